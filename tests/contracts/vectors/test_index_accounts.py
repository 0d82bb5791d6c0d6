"""What reconciliation needs from an index, on each adapter of both kinds."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any

import pytest

from openbrain.domain.errors import IndexMissing
from openbrain.domain.ids import mark, point_id
from openbrain.ports.index import Standing, Sum, Tombstone
from tests.support.indexes.entries import direction, memory, text_entry, tombstone, vector_entry
from tests.support.indexes.vector_engines import INDEXLESS

pytestmark = INDEXLESS
EAST = direction(1, 0, 0, 0)


class Accountable:
    """Either kind of index with its generation, so that the same tests cover both."""

    def __init__(self, index: Any, name: str, *, text: bool) -> None:
        self.index, self.name, self.text = index, name, text

    def entry(self, row: Any, revision: int = 1, **changes: Any) -> Any:
        if self.text:
            return text_entry(row, "ferry", revision=revision, **changes)
        return vector_entry(row, EAST, revision=revision, **changes)

    async def write(self, *entries: Any, visible: bool = True) -> None:
        assert await self.index.write(self.name, entries, visible=visible) == {}

    async def sums(self) -> Mapping[int, Sum]:
        """The sums; the counts without digests must equal theirs."""
        sums, counts = await self.index.sums(self.name), await self.index.sums(self.name, digests=False)
        assert {bucket: (each.entries, each.tombstones) for bucket, each in counts.items()} == {
            bucket: (each.entries, each.tombstones) for bucket, each in sums.items()
        }
        assert all(each.digests in (None, sums[bucket].digests) for bucket, each in counts.items())
        return dict(sums)

    async def left_vectors(self, *, clear: bool = False) -> int:
        return int(await self.index.left_vectors(self.name, clear=clear))

    async def highest(self) -> int:
        return int(await self.index.highest(self.name))

    async def in_buckets(self, *buckets: int) -> Collection[Standing]:
        found = [each async for some in self.index.in_buckets(self.name, buckets) for each in some]
        return sorted(found, key=lambda each: each.id)

    async def entry_marks(self) -> tuple[list[int], list[Standing]]:
        pages = [some async for some in self.index.entry_marks(self.name)]
        living = sorted(each for some in pages for each in some.living)
        return living, [each for some in pages for each in some.tombstones]

    async def read(self, *ids: str) -> Mapping[str, Standing]:
        return dict(await self.index.read(self.name, ids))

    async def drop(self) -> None:
        await self.index.drop(self.name)

    async def drop_tombstones(self, before: int) -> int:
        return int(await self.index.drop_tombstones(self.name, before))


@pytest.fixture
def text(text_index: Any) -> Accountable:
    return Accountable(*text_index, text=True)


@pytest.fixture
def vectors(vector_index: Any) -> Accountable:
    return Accountable(*vector_index, text=False)


async def _sums(index: Accountable) -> None:
    assert await index.sums() == {}
    assert await index.highest() == 0
    one, other, third = (index.entry(memory(), revision=number)._replace(bucket=7) for number in (1, 2, 3))
    alone = index.entry(memory())._replace(bucket=1023)
    gone = tombstone(memory().id, revision=9)._replace(bucket=7)
    lone = tombstone(memory().id, revision=4)._replace(bucket=0)
    await index.write(one, other, third, alone, gone, lone)
    assert await index.sums() == {
        7: Sum(3, one.digest + other.digest + third.digest, 1),
        1023: Sum(1, alone.digest, 0),
        0: Sum(0, 0, 1),
    }
    assert await index.highest() == 9
    # Replacing an entry replaces its part of the sum.
    await index.write(
        one._replace(revision=5, digest=2**32 - 1), Tombstone(id=other.id, memory_id=other.id, revision=5, bucket=7)
    )
    assert (await index.sums())[7] == Sum(2, 2**32 - 1 + third.digest, 2)


async def _in_buckets(index: Accountable) -> None:
    rows = [memory() for _ in range(4)]
    entries = [index.entry(row)._replace(bucket=bucket) for row, bucket in zip(rows, (5, 5, 6, 8), strict=True)]
    gone = tombstone(memory().id, revision=2)._replace(bucket=6)
    await index.write(*entries, gone)
    expected = [_standing(each) for each in (*entries[:3], gone)]
    assert await index.in_buckets(5, 6) == sorted(expected, key=lambda each: each.id)
    assert await index.in_buckets(8) == [_standing(entries[3])]
    assert await index.in_buckets(700) == []
    marks, tombstones = await index.entry_marks()
    assert marks == sorted(mark(each.bucket, each.digest) for each in entries)
    assert tombstones == [_standing(gone)]


async def _not_visible(index: Accountable) -> None:
    """Entries that a search does not see yet are counted at once."""
    for number in range(1, 6):
        entry = index.entry(memory(), revision=number)._replace(bucket=number)
        await index.write(entry, visible=False)
        assert (await index.sums())[number] == Sum(1, entry.digest, 0)
        await index.write(tombstone(entry.id, revision=10 + number)._replace(bucket=number), visible=False)
        assert await index.highest() == 10 + number
        assert (await index.read(entry.id))[entry.id].tombstone


def _standing(entry: Any) -> Standing:
    removed = isinstance(entry, Tombstone)
    return Standing(
        id=entry.id,
        memory_id=entry.memory_id,
        revision=entry.revision,
        bucket=entry.bucket,
        digest=0 if removed else entry.digest,
        tombstone=removed,
    )


async def _old_tombstones(index: Accountable) -> None:
    old, young, ageless, back = memory(), memory(), memory(), memory()
    await index.write(
        tombstone(old.id, revision=1)._replace(at=1_000),
        tombstone(young.id, revision=1)._replace(at=2_000),
        tombstone(ageless.id, revision=1),
        tombstone(back.id, revision=1)._replace(at=1_000),
    )
    await index.write(index.entry(back, revision=2))
    assert await index.drop_tombstones(1_000) == 0
    assert await index.drop_tombstones(2_000) == 1
    assert await index.drop_tombstones(2_000) == 0
    assert (await index.read(old.id, young.id, ageless.id, back.id)).keys() == {young.id, ageless.id, back.id}
    await index.write(index.entry(old, revision=3))
    assert not (await index.read(old.id))[old.id].tombstone


async def _many_pages(index: Accountable, count: int) -> None:
    """More entries in one bucket than an engine returns at once."""
    entries: Sequence[Any] = [index.entry(memory())._replace(bucket=3) for _ in range(count)]
    removed = [tombstone(memory().id, revision=1)._replace(bucket=3, at=1) for _ in range(count)]
    for start in range(0, count, 500):
        await index.write(*entries[start : start + 500], *removed[start : start + 500])
    assert (await index.sums())[3] == Sum(count, sum(each.digest for each in entries), count)
    found = await index.in_buckets(3)
    assert {each.id for each in found if not each.tombstone} == {each.id for each in entries}
    assert await index.drop_tombstones(2) == count
    assert await index.sums() == {3: Sum(count, sum(each.digest for each in entries), 0)}


async def _missing(index: Accountable, make: Callable[[], Awaitable[object]]) -> None:
    """A missing index is distinguished from a server that is away, and is created anew, empty, as often as that
    happens."""
    entry = index.entry(memory())
    for _ in range(2):
        await index.write(entry)
        await index.drop()
        with pytest.raises(IndexMissing):
            await index.read(entry.id)
        await make()
        assert await index.read(entry.id) == {}


class TestText:
    async def test_sums(self, text: Accountable) -> None:
        await _sums(text)

    async def test_not_visible(self, text: Accountable) -> None:
        await _not_visible(text)

    async def test_in_buckets(self, text: Accountable) -> None:
        await _in_buckets(text)

    async def test_only_old_tombstones_are_dropped(self, text: Accountable) -> None:
        await _old_tombstones(text)

    async def test_missing(self, text: Accountable) -> None:
        await _missing(text, lambda: text.index.prepare(text.name))

    async def test_many_pages(self, text: Accountable) -> None:
        await _many_pages(text, 2_500)


class TestVectors:
    async def test_sums(self, vectors: Accountable) -> None:
        await _sums(vectors)

    async def test_not_visible(self, vectors: Accountable) -> None:
        await _not_visible(vectors)

    async def test_in_buckets(self, vectors: Accountable) -> None:
        await _in_buckets(vectors)

    async def test_only_old_tombstones_are_dropped(self, vectors: Accountable) -> None:
        await _old_tombstones(vectors)

    async def test_missing(self, vectors: Accountable) -> None:
        await _missing(vectors, lambda: vectors.index.prepare(vectors.name, len(EAST)))

    async def test_many_pages(self, vectors: Accountable, request: pytest.FixtureRequest) -> None:
        # Pages of Qdrant have 1,000 entries, in-process ones fewer, Elasticsearch's 2,000.
        await _many_pages(vectors, 2_500 if "elasticsearch" in request.node.name else 1_100)

    async def test_no_tombstone_keeps_a_vector(self, vectors: Accountable) -> None:
        rows = [memory() for _ in range(3)]
        await vectors.write(*(vectors.entry(row) for row in rows))
        await vectors.write(*(tombstone(row.id, revision=2) for row in rows[1:]))
        assert [await vectors.left_vectors(clear=clear) for clear in (False, True, False)] == [0, 0, 0]
        assert not (await vectors.read(rows[0].id))[rows[0].id].tombstone

    async def test_every_passage_counts(self, vectors: Accountable) -> None:
        row = memory()
        entries = [vectors.entry(row, passage=number) for number in range(3)]
        await vectors.write(*entries, tombstone(row.id, revision=1, entry_id=point_id(row.id, 3)))
        (found,) = (await vectors.sums()).values()
        assert found == Sum(3, sum(each.digest for each in entries), 1)
        assert {each.memory_id for each in await vectors.in_buckets(entries[0].bucket)} == {row.id}
