"""The fence of the full-text index, on each adapter: in any order of writes, the highest revision remains."""

import asyncio
import itertools
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openbrain.ports.index import TextEntry, TextIndex, Tombstone
from tests.support.forms import examples
from tests.support.indexes.entries import EVERYTHING, memory, new_id, text_entry, tombstone

Prepared = tuple[TextIndex, str]
Entry = TextEntry | Tombstone


def entry(memory_id: str, revision: int, *, removed: bool) -> Entry:
    """What a projector writes for this revision: a text that contains its number, or a tombstone."""
    if removed:
        return tombstone(memory_id, revision=revision)
    return text_entry(memory(memory_id), f"r{revision} {word(memory_id)}", revision=revision)


def word(memory_id: str) -> str:
    return f"m{memory_id.replace('-', '')}"


async def write(prepared: Prepared, *entries: Entry) -> None:
    index, name = prepared
    assert await index.write(name, entries) == {}


async def stands(prepared: Prepared, expected: Entry) -> None:
    """Check that exactly this entry is stored, and nothing of another revision."""
    index, name = prepared
    standing = (await index.read(name, [expected.id]))[expected.id]
    removed = isinstance(expected, Tombstone)
    assert (standing.revision, standing.tombstone, standing.bucket) == (expected.revision, removed, expected.bucket)
    assert standing.digest == (0 if isinstance(expected, Tombstone) else expected.digest)
    hits = await index.search(name, word(expected.id), EVERYTHING, 10)
    assert [hit.memory_id for hit in hits] == ([] if removed else [expected.id])
    if not removed:
        query = f"r{expected.revision}"
        assert expected.id in [hit.memory_id for hit in await index.search(name, query, EVERYTHING, 1000)]


@st.composite
def histories(draw: st.DrawFn) -> tuple[dict[int, bool], list[list[int]]]:
    """Revisions of one memory (removed or not), and the batches in which they are written: in any order, any
    repeated."""
    states = draw(st.dictionaries(st.integers(1, 9), st.booleans(), min_size=1, max_size=5))
    writes = draw(st.permutations([*states, *draw(st.lists(st.sampled_from(sorted(states)), max_size=5))]))
    cuts = sorted(draw(st.lists(st.integers(0, len(writes)), max_size=3)))
    edges = [0, *cuts, len(writes)]
    return states, [writes[a:b] for a, b in itertools.pairwise(edges)]


@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(several=st.lists(histories(), min_size=1, max_size=3), at_once=st.booleans())
async def test_any_order_ends_in_the_highest_revision(
    text_index: Prepared, several: list[tuple[dict[int, bool], list[list[int]]]], at_once: bool
) -> None:
    memories = [(new_id(), states, batches) for states, batches in several]

    async def writer(memory_id: str, states: dict[int, bool], batches: Sequence[Sequence[int]]) -> None:
        calls = [
            write(text_index, *(entry(memory_id, revision, removed=states[revision]) for revision in batch))
            for batch in batches
        ]
        if at_once:
            await asyncio.gather(*calls)
        else:
            for call in calls:
                await call

    await asyncio.gather(*(writer(*each) for each in memories))

    for memory_id, states, _ in memories:
        await stands(text_index, entry(memory_id, max(states), removed=states[max(states)]))


async def test_a_removal_before_the_update_it_follows(text_index: Prepared) -> None:
    """The events are read in the wrong order."""
    memory_id = new_id()
    gone = entry(memory_id, 3, removed=True)
    await write(text_index, entry(memory_id, 1, removed=False))

    await write(text_index, gone)
    await write(text_index, entry(memory_id, 2, removed=False))

    await stands(text_index, gone)


async def test_a_removal_where_nothing_stood(text_index: Prepared) -> None:
    """A writer reads the row, stalls, and continues after the memory was forgotten and removed."""
    memory_id = new_id()
    stopped = entry(memory_id, 1, removed=False)
    gone = entry(memory_id, 2, removed=True)

    await write(text_index, gone)
    await stands(text_index, gone)
    await write(text_index, stopped)

    await stands(text_index, gone)


async def test_a_restored_memory_comes_back(text_index: Prepared) -> None:
    memory_id = new_id()
    back = entry(memory_id, 3, removed=False)
    await write(text_index, entry(memory_id, 1, removed=False))
    await write(text_index, entry(memory_id, 2, removed=True))

    await write(text_index, back)

    await stands(text_index, back)


async def test_an_equal_revision_is_rewritten(text_index: Prepared) -> None:
    """As with a forced reindex or a repeated event."""
    index, name = text_index
    row = memory()
    await write(text_index, text_entry(row, "ferry", revision=4))

    await write(text_index, text_entry(row, "boat", revision=4))

    assert [hit.memory_id for hit in await index.search(name, "boat", EVERYTHING, 10)] == [row.id]
    assert await index.search(name, "ferry", EVERYTHING, 10) == []


@pytest.mark.parametrize("revisions", [(2, 3, 1), (3, 2, 1), (1, 2, 3), (1, 3, 2)])
async def test_in_one_batch_the_highest_counts(text_index: Prepared, revisions: tuple[int, ...]) -> None:
    memory_id = new_id()

    await write(text_index, *(entry(memory_id, revision, removed=revision == 2) for revision in revisions))

    await stands(text_index, entry(memory_id, 3, removed=False))


async def test_in_one_batch_the_later_of_equals_counts(text_index: Prepared) -> None:
    index, name = text_index
    row = memory()

    await write(text_index, *(text_entry(row, text, revision=4) for text in ("ferry", "boat", "canoe")))

    assert [hit.memory_id for hit in await index.search(name, "canoe", EVERYTHING, 10)] == [row.id]
    assert await index.search(name, "ferry boat", EVERYTHING, 10) == []


async def test_a_refused_write_is_no_failure_of_its_neighbours(text_index: Prepared) -> None:
    late, fresh = new_id(), new_id()
    gone = entry(late, 9, removed=True)
    await write(text_index, gone)

    await write(text_index, entry(late, 8, removed=False), entry(fresh, 1, removed=False))

    await stands(text_index, gone)
    await stands(text_index, entry(fresh, 1, removed=False))
