"""Contract of `Memories.indexable`: rows that this process has just written are the same as if they were read."""

from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.memories.reading import SqlMemories
from openbrain.adapters.sql.memories.rows import _LONG_CHARS, _MOST, RecentRows
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.ids import uuid7
from openbrain.domain.memory import Memory, Scope
from openbrain.ports.store.generations import IndexKind
from openbrain.ports.store.index_entries import Mark
from openbrain.ports.store.writes import Edit, Status
from tests.support.forms import examples
from tests.support.store.fixtures import START, FakeClock, memory, origin, stored, viewer, write

NOBODY = uuid7(START)


@pytest.fixture
async def store(database: Database, clock: FakeClock) -> SqlStore:
    """A store whose process indexes, so that it caches what it writes."""
    made = SqlStore(database, clock)
    assert await made.memories.indexable([NOBODY]) == {}
    return made


@pytest.fixture
def elsewhere(database: Database, clock: FakeClock) -> SqlStore:
    """Another process on the same database."""
    return SqlStore(database, clock)


async def assert_current(store: SqlStore, *ids: str) -> None:
    assert await store.memories.indexable([*ids, NOBODY, "no id"]) == await store.memories.rows(ids)


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
changes = st.fixed_dictionaries(
    {},
    optional={
        "org": texts,
        "memory_scope": st.sampled_from(Scope),
        "session_id": texts,
        "turn": st.integers(0, 2**31 - 1),
        "tags": st.lists(texts, max_size=3).map(tuple),
        "confidence": st.floats(0, 1),
        "metadata": st.dictionaries(
            texts, texts | st.floats(allow_nan=False, allow_infinity=False) | st.lists(st.booleans()), max_size=3
        ),
        "expires_at": st.integers(START + 1, 2**53 - 1),
        "occurred_at": st.integers(-(2**53), 2**53),
        "wants_vector": st.booleans(),
    },
)


@settings(
    max_examples=examples(25),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(st.tuples(texts.filter(str.strip), changes), min_size=1, max_size=4))
async def test_what_was_written_is_what_is_read(store: SqlStore, given: list[tuple[str, dict[str, Any]]]) -> None:
    outcomes = await store.writes.remember([write(content, allow_duplicate=True, **more) for content, more in given])
    ids = [each.memory.id for each in outcomes if each.memory is not None]

    assert len(ids) == len(given)
    await assert_current(store, *ids)


async def test_what_was_written_is_not_read_whole(store: SqlStore) -> None:
    row = await stored(store.writes)
    await store.index_marks.mark(IndexKind.TEXT, [Mark(row.id, row.revision)])

    assert (await store.memories.indexable([row.id]))[
        row.id
    ] is row  # as it was written: the index mark is not part of the indexed data
    assert (await store.memories.rows([row.id]))[row.id].text_revision == row.revision


async def test_a_change_is_seen_wherever_it_is_made(store: SqlStore, elsewhere: SqlStore, clock: FakeClock) -> None:
    kept, other = await stored(store.writes), await stored(store.writes, "else")
    for at, writer in enumerate((store, elsewhere)):
        clock.advance(1)
        await writer.writes.update(Edit(memory_id=kept.id, viewer=viewer(), origin=origin(), content=f"green {at}"))
        await assert_current(store, kept.id, other.id)
        assert (await store.memories.indexable([kept.id]))[kept.id].content == f"green {at}"
    await elsewhere.writes.forget(kept.id, viewer(), origin(), "")
    assert not (await store.memories.indexable([kept.id]))[kept.id].alive(clock.now())
    await assert_current(store, kept.id, other.id)


async def test_an_erased_memory_is_forgotten_here_too(store: SqlStore, elsewhere: SqlStore) -> None:
    row = await stored(store.writes, "my secret")
    await elsewhere.writes.erase(row.id, viewer(), origin(), "")

    assert (await store.memories.indexable([row.id]))[row.id].content == ""
    assert not cast(SqlMemories, store.memories)._recent.among([row.id])


async def test_passages_are_counted(store: SqlStore, database: Database) -> None:
    row = await stored(store.writes)
    await database.write(lambda c: c.exec_driver_sql("UPDATE memories SET passages_high = 3"))

    assert (await store.memories.indexable([row.id]))[row.id].passages_high == 3
    await assert_current(store, row.id)


async def test_a_duplicate_is_read(store: SqlStore, elsewhere: SqlStore) -> None:
    row = await stored(elsewhere.writes)
    (again,) = await store.writes.remember([write()])

    assert again.status is Status.DUPLICATE
    await assert_current(store, row.id)


def test_no_more_is_kept_than_is_of_use() -> None:
    recent = RecentRows()
    before = memory("before anybody asked")
    recent.keep([before])
    assert not recent.among([before.id])

    many = [memory(str(number)) for number in range(_MOST + 5)]
    recent.keep([*many, long := memory("x" * (_LONG_CHARS + 1))])

    assert list(recent.among([each.id for each in (*many, long)])) == [each.id for each in many[5:]]


def test_what_moved_on_is_kept_no_longer() -> None:
    recent = RecentRows()
    recent.among([])
    same, gone, moved = (memory(each) for each in ("same", "gone", "moved"))
    recent.keep([same, gone, moved])
    now: dict[str, Memory] = {same.id: same, moved.id: memory("moved", id=moved.id, revision=2)}

    recent.settle({each.id: each for each in (same, gone, moved)}, now)

    assert set(recent.among([same.id, gone.id, moved.id])) == {same.id}
