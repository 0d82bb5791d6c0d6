"""Properties of the vector index, on each adapter: the fence holds in any order, and filters match the predicate."""

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openbrain.domain.access.visibility import AllOf, AtLeast, Equals, matches
from openbrain.domain.memory import Memory
from openbrain.ports.index import Tombstone, VectorEntry, VectorIndex
from tests.support.forms import examples
from tests.support.indexes.conditions import conditions, rows
from tests.support.indexes.entries import EVERYTHING, WORKSPACE, memory, new_id, tombstone, vector_entry
from tests.support.indexes.vector_engines import EAST, GENERATION, INDEXLESS, NORTH, found, found_all, write

pytestmark = INDEXLESS
LAWS = settings(
    max_examples=examples(40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


class TestFence:
    async def test_a_late_lower_revision_changes_nothing(self, index: VectorIndex) -> None:
        row = memory()
        await write(index, vector_entry(row, EAST, revision=5))
        await write(index, vector_entry(row._replace(workspace_id="elsewhere"), NORTH, revision=4))
        assert (await index.read(GENERATION, [row.id]))[row.id].revision == 5
        assert [hit.score for hit in await index.search(GENERATION, EAST, EVERYTHING, 5)] == pytest.approx([1])

    async def test_an_equal_revision_is_written_again(self, index: VectorIndex) -> None:
        row = memory()
        await write(index, vector_entry(row, EAST, revision=5, digest=1))
        await write(index, vector_entry(row, NORTH, revision=5, digest=2))
        assert (await index.read(GENERATION, [row.id]))[row.id].digest == 2
        assert [hit.score for hit in await index.search(GENERATION, NORTH, EVERYTHING, 5)] == pytest.approx([1])

    async def test_a_tombstone_stands_where_nothing_stood(self, index: VectorIndex) -> None:
        row = memory()
        await write(index, tombstone(row.id, revision=5))
        await write(index, vector_entry(row, EAST, revision=4))
        assert await found(index) == []
        assert (await index.read(GENERATION, [row.id]))[row.id].tombstone

    async def test_a_tombstone_takes_everything_away(self, index: VectorIndex) -> None:
        row = memory()
        await write(index, vector_entry(row, EAST, revision=4))
        await write(index, tombstone(row.id, revision=4))
        assert await found(index) == []
        assert await found(index, condition=AllOf(())) == []
        assert await found(index, condition=AllOf((AtLeast("expires_at", 0),))) == []

    async def test_a_late_tombstone_takes_nothing_away(self, index: VectorIndex) -> None:
        row = memory()
        await write(index, vector_entry(row, EAST, revision=5))
        await write(index, tombstone(row.id, revision=4))
        assert await found(index) == [row.id]

    async def test_a_restored_memory_comes_back(self, index: VectorIndex) -> None:
        row = memory()
        await write(index, tombstone(row.id, revision=5))
        await write(index, vector_entry(row, EAST, revision=6))
        assert await found(index) == [row.id]

    async def test_passages_that_vanished_stay_away(self, index: VectorIndex) -> None:
        row = memory()
        old = [vector_entry(row, EAST, revision=1, passage=number) for number in range(3)]
        await write(index, *old)
        gone = [tombstone(row.id, revision=2, entry_id=each.id) for each in old[1:]]
        await write(index, vector_entry(row, NORTH, revision=2), *gone)
        await write(index, *old)
        assert [hit.score for hit in await index.search(GENERATION, EAST, EVERYTHING, 5)] == pytest.approx(
            [0], abs=1e-6
        )

    async def test_one_write_may_name_an_id_several_times(self, index: VectorIndex) -> None:
        row, other = memory(), memory()
        await write(
            index,
            vector_entry(row, EAST, revision=2, digest=1),
            vector_entry(row, EAST, revision=3, digest=2),
            vector_entry(row, EAST, revision=3, digest=3),
            vector_entry(row, EAST, revision=1, digest=4),
            vector_entry(other, EAST, revision=1),
            tombstone(other.id, revision=1),
        )
        standing = await index.read(GENERATION, [row.id, other.id])
        assert (standing[row.id].revision, standing[row.id].digest) == (3, 3)
        assert standing[other.id].tombstone

    @LAWS
    @given(data=st.data())
    async def test_any_order_ends_the_same(self, index: VectorIndex, data: st.DataObject) -> None:
        """Entries and tombstones of two passages, repeated, in any order, split into writes anywhere."""
        row = memory()
        passages = st.integers(0, 1)
        entries = st.builds(
            lambda passage, revision, mark: vector_entry(row, EAST, revision=revision, passage=passage, digest=mark),
            passages,
            st.integers(1, 4),
            st.integers(1, 2**32 - 1),
        )
        removals = st.builds(
            lambda passage, revision: tombstone(
                row.id, revision=revision, entry_id=vector_entry(row, EAST, passage=passage).id
            ),
            passages,
            st.integers(1, 4),
        )
        operations = data.draw(st.lists(entries | removals, min_size=1, max_size=8))
        size = data.draw(st.integers(1, len(operations)))
        expected: dict[str, VectorEntry | Tombstone] = {}
        for each in operations:
            if each.id not in expected or each.revision >= expected[each.id].revision:
                expected[each.id] = each
        for start in range(0, len(operations), size):
            await write(index, *operations[start : start + size])
        standing = await index.read(GENERATION, [each.id for each in operations])
        assert {key: (one.revision, one.tombstone, one.digest) for key, one in standing.items()} == {
            key: (one.revision, isinstance(one, Tombstone), 0 if isinstance(one, Tombstone) else one.digest)
            for key, one in expected.items()
        }
        alive = any(isinstance(one, VectorEntry) for one in expected.values())
        assert (row.id in await found_all(index, AllOf((Equals("workspace_id", WORKSPACE),)))) == alive

    async def test_concurrent_writers_leave_the_highest(self, index: VectorIndex) -> None:
        row = memory()
        await asyncio.gather(*(write(index, vector_entry(row, EAST, revision=each)) for each in (3, 1, 5, 2, 4)))
        assert (await index.read(GENERATION, [row.id]))[row.id].revision == 5


@LAWS
@given(some=st.lists(rows, min_size=1, max_size=8), condition=conditions)
async def test_finds_exactly_what_the_predicate_says(
    index: VectorIndex, some: Sequence[Memory], condition: AllOf
) -> None:
    """Rows of other examples are in the same index; only this example's are compared."""
    own = {row.id: row for row in (each._replace(id=new_id()) for each in some)}
    await write(index, *(vector_entry(row, EAST) for row in own.values()), tombstone(new_id(), revision=1))
    expected = {row.id for row in own.values() if matches(condition, row)}
    assert await found_all(index, condition) & own.keys() == expected
