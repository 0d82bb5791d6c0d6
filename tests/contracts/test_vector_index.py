"""The contract of the vector index, on each adapter. Qdrant's runs on the client's local mode: see
docs/reference/qdrant.md for what that leaves open."""

import asyncio
import math
import uuid
from array import array
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from elasticsearch import AsyncElasticsearch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from qdrant_client import AsyncQdrantClient

from openbrain.adapters.elasticsearch_vectors import ElasticsearchVectors
from openbrain.adapters.qdrant_edge_vectors import QdrantEdgeVectors
from openbrain.adapters.qdrant_vectors import QdrantVectors
from openbrain.errors import Invalid, SetupError, TryLater
from openbrain.memory import Memory
from openbrain.ports.index import Tombstone, VectorEntry, VectorIndex
from openbrain.visibility import AllOf, AtLeast, Equals, matches
from tests.index_conditions import conditions, rows
from tests.index_support import EVERYTHING, WORKSPACE, direction, memory, new_id, tombstone, vector_entry
from tests.servers.process import Server

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant:UserWarning")

GENERATION = "first"
DIMENSIONS = 4
EAST, NORTH, SOUTH = direction(1, 0, 0, 0), direction(0, 1, 0, 0), direction(0, -1, 0, 0)
NOBODY_LISTENS = "http://127.0.0.1:1"
LAWS = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@dataclass
class Engine:
    """How to open this test's index, and once more as another process would."""

    open: Callable[[], VectorIndex]
    shared: bool
    """Whether several may have it open at once."""


@pytest.fixture(params=["qdrant-edge", "qdrant-local", "elasticsearch-knn"])
async def engine(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Engine]:
    first_part = f"test{uuid.uuid4().hex}"
    if request.param == "qdrant-edge":
        yield Engine(lambda: QdrantEdgeVectors(tmp_path / "vectors"), shared=False)
    elif request.param == "qdrant-local":
        folder = str(tmp_path / "qdrant")
        yield Engine(lambda: QdrantVectors(lambda: AsyncQdrantClient(path=folder), first_part), shared=False)
    else:
        server: Server = request.getfixturevalue("elasticsearch_server")
        yield Engine(lambda: ElasticsearchVectors(server.url, first_part, 10, True, 10), shared=True)
        async with AsyncElasticsearch(server.url) as client:
            ours = await client.indices.get(index=f"{first_part}-*", expand_wildcards="all")
            await client.indices.delete(index=",".join(ours))
            await client.indices.delete_index_template(name=f"{first_part}-vectors")


@pytest.fixture
async def index(engine: Engine) -> AsyncIterator[VectorIndex]:
    index = engine.open()
    await index.prepare(GENERATION, DIMENSIONS)
    yield index
    await index.close()


async def write(index: VectorIndex, *entries: VectorEntry | Tombstone) -> None:
    assert await index.write(GENERATION, entries) == {}


async def found(index: VectorIndex, near: "array[float]" = EAST, condition: AllOf = EVERYTHING) -> list[str]:
    return [hit.memory_id for hit in await index.search(GENERATION, near, condition, 100)]


async def test_finds_what_was_written_nearest_first_with_its_cosine(index: VectorIndex) -> None:
    near, far, opposite = memory(), memory(), memory()
    between = direction(1, 1, 0, 0)
    await write(index, vector_entry(far, between), vector_entry(opposite, SOUTH), vector_entry(near, NORTH))
    hits = await index.search(GENERATION, NORTH, EVERYTHING, 10)
    assert [hit.memory_id for hit in hits] == [near.id, far.id, opposite.id]
    assert [hit.score for hit in hits] == pytest.approx([1, math.sqrt(0.5), -1], abs=1e-6)
    assert [hit.memory_id for hit in await index.search(GENERATION, NORTH, EVERYTHING, 2)] == [near.id, far.id]


async def test_says_what_stands(index: VectorIndex) -> None:
    row, gone, never = memory(), memory(), new_id()
    entry = vector_entry(row, EAST, revision=2**40, passage=3)
    await write(index, entry, tombstone(gone.id, revision=7))
    standing = await index.read(GENERATION, [entry.id, gone.id, never, entry.id])
    assert standing.keys() == {entry.id, gone.id}
    stands = standing[entry.id]
    assert (stands.id, stands.memory_id, stands.revision) == (entry.id, row.id, 2**40)
    assert (stands.bucket, stands.digest, stands.tombstone) == (entry.bucket, entry.digest, False)
    removed = standing[gone.id]
    assert (removed.memory_id, removed.revision, removed.digest, removed.tombstone) == (gone.id, 7, 0, True)
    assert await index.read(GENERATION, []) == {}


async def test_nothing_to_write_is_fine(index: VectorIndex) -> None:
    await write(index)
    assert await found(index) == []


class TestFence:
    async def test_a_late_lower_revision_changes_nothing(self, index: VectorIndex) -> None:
        row = memory()
        await write(index, vector_entry(row, EAST, revision=5))
        await write(index, vector_entry(replace(row, workspace_id="elsewhere"), NORTH, revision=4))
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
        """Entries and tombstones of two passages, repeated, in any order, cut into writes anywhere."""
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


async def found_all(index: VectorIndex, condition: AllOf) -> set[str]:
    return {hit.memory_id for hit in await index.search(GENERATION, EAST, condition, 5000)}


@LAWS
@given(some=st.lists(rows, min_size=1, max_size=8), condition=conditions)
async def test_finds_exactly_what_the_predicate_says(
    index: VectorIndex, some: Sequence[Memory], condition: AllOf
) -> None:
    """Other examples' rows stand in the same index; only this one's are looked at."""
    own = {row.id: row for row in (replace(each, id=new_id()) for each in some)}
    await write(index, *(vector_entry(row, EAST) for row in own.values()), tombstone(new_id(), revision=1))
    expected = {row.id for row in own.values() if matches(condition, row)}
    assert await found_all(index, condition) & own.keys() == expected


class TestPassages:
    async def test_each_memory_once_with_its_best_passage(self, index: VectorIndex) -> None:
        row, other = memory(), memory()
        await write(
            index,
            vector_entry(row, SOUTH),
            vector_entry(row, EAST, passage=1),
            vector_entry(row, NORTH, passage=2),
            vector_entry(other, direction(1, 1, 0, 0)),
        )
        hits = await index.search(GENERATION, EAST, EVERYTHING, 10)
        assert [hit.memory_id for hit in hits] == [row.id, other.id]
        assert [hit.score for hit in hits] == pytest.approx([1, math.sqrt(0.5)], abs=1e-6)

    async def test_many_passages_of_one_memory_take_no_places(self, index: VectorIndex) -> None:
        long = memory()
        others = [memory() for _ in range(6)]
        await write(
            index,
            *(vector_entry(long, EAST, passage=number) for number in range(70)),
            *(vector_entry(row, direction(1, number + 1, 0, 0)) for number, row in enumerate(others)),
        )
        hits = await index.search(GENERATION, EAST, EVERYTHING, 6)
        assert [hit.memory_id for hit in hits] == [long.id, *(row.id for row in others[:5])]


class TestBadVectors:
    @pytest.mark.parametrize(
        "bad",
        [
            array("f", [1, 0, 0]),
            array("f"),
            array("f", [1, 0, 0, 0, 0]),
            array("f", [math.nan, 0, 0, 0]),
            array("f", [math.inf, 0, 0, 0]),
            array("f", [1, -math.inf, math.inf, 0]),
            array("f", [0, 0, 0, 0]),
        ],
    )
    async def test_a_vector_that_can_not_be_compared_fails_alone(self, index: VectorIndex, bad: "array[float]") -> None:
        first, broken, last = memory(), memory(), memory()
        failed = await index.write(
            GENERATION, [vector_entry(first, EAST), vector_entry(broken, bad), vector_entry(last, EAST)]
        )
        assert list(failed) == [broken.id]
        assert isinstance(failed[broken.id], Invalid)
        assert "vector" in str(failed[broken.id])
        assert set(await found(index)) == {first.id, last.id}
        assert await index.read(GENERATION, [broken.id]) == {}

    async def test_a_question_of_another_model_is_told_both_numbers(self, index: VectorIndex) -> None:
        with pytest.raises(SetupError, match=r"4.*3"):
            await index.search(GENERATION, direction(1, 0, 0), EVERYTHING, 1)


class TestGenerations:
    async def test_know_nothing_of_each_other(self, index: VectorIndex) -> None:
        row = memory()
        await index.prepare("second", 3)
        await write(index, tombstone(row.id, revision=9))
        assert await index.write("second", [vector_entry(row, direction(1, 0, 0))]) == {}
        assert await found(index) == []
        assert [hit.memory_id for hit in await index.search("second", direction(1, 0, 0), EVERYTHING, 5)] == [row.id]

    async def test_other_dimensions_are_told_with_both_numbers(self, engine: Engine, index: VectorIndex) -> None:
        with pytest.raises(SetupError, match=r"4.*768"):
            await index.prepare(GENERATION, 768)
        await write(index, vector_entry(memory(), EAST))

    async def test_preparing_again_changes_nothing(self, index: VectorIndex) -> None:
        row = memory()
        await write(index, vector_entry(row, EAST))
        await index.prepare(GENERATION, DIMENSIONS)
        assert await found(index) == [row.id]

    async def test_one_that_is_missing_is_worth_waiting_for(self, index: VectorIndex) -> None:
        with pytest.raises(TryLater):
            await index.search("missing", EAST, EVERYTHING, 1)
        with pytest.raises(TryLater):
            await index.write("missing", [vector_entry(memory(), EAST)])
        with pytest.raises(TryLater):
            await index.read("missing", [new_id()])

    async def test_what_was_written_stays(self, engine: Engine) -> None:
        row, gone = memory(), memory()
        first = engine.open()
        await first.prepare(GENERATION, DIMENSIONS)
        await write(first, vector_entry(row, EAST, revision=3), tombstone(gone.id, revision=2))
        await first.close()
        second = engine.open()
        await second.prepare(GENERATION, DIMENSIONS)
        await write(second, vector_entry(row, NORTH, revision=2), vector_entry(gone, EAST, revision=1))
        assert [hit.score for hit in await second.search(GENERATION, EAST, EVERYTHING, 5)] == pytest.approx([1])
        await second.close()

    async def test_several_may_prepare_at_once(self, engine: Engine) -> None:
        many = [engine.open() for _ in range(4 if engine.shared else 1)]
        await asyncio.gather(*(each.prepare(GENERATION, DIMENSIONS) for each in many * 2))
        row = memory()
        await write(many[0], vector_entry(row, EAST))
        assert await found(many[-1]) == [row.id]
        for each in many:
            await each.close()

    async def test_one_process_can_search_what_another_prepared(self, engine: Engine, index: VectorIndex) -> None:
        row = memory()
        await write(index, vector_entry(row, EAST))
        if not engine.shared:
            await index.close()
        other = engine.open()
        assert await found(other) == [row.id]
        await other.close()


async def test_a_large_batch_of_many_revisions(index: VectorIndex) -> None:
    many = [memory() for _ in range(500)]
    await write(index, *(vector_entry(row, EAST, revision=1 + number % 50) for number, row in enumerate(many)))
    standing = await index.read(GENERATION, [row.id for row in many])
    assert [standing[row.id].revision for row in many] == [1 + number % 50 for number in range(500)]
    assert await found_all(index, EVERYTHING) == {row.id for row in many}


async def test_says_what_it_is(index: VectorIndex) -> None:
    checked = await index.check()
    assert checked.product
    assert checked.version[0].isdigit()
    assert checked.problems == ()
    assert index.builder


@pytest.mark.parametrize(
    "down",
    [
        lambda: QdrantVectors(NOBODY_LISTENS, "x", timeout_s=1),
        lambda: ElasticsearchVectors(NOBODY_LISTENS, "x", 10, True, 1),
    ],
)
async def test_an_engine_that_is_down_is_worth_waiting_for(down: Callable[[], VectorIndex]) -> None:
    index = down()
    for attempt in (
        index.prepare(GENERATION, DIMENSIONS),
        index.write(GENERATION, [vector_entry(memory(), EAST)]),
        index.search(GENERATION, EAST, EVERYTHING, 1),
        index.read(GENERATION, [new_id()]),
        index.check(),
    ):
        with pytest.raises(TryLater):
            await attempt
    await index.close()
