"""The contract of the vector index, on each adapter: finding, passages, generations, bad vectors, failed engines."""

import asyncio
import math
from array import array
from collections.abc import Callable

import pytest

from openbrain.adapters.elasticsearch.vectors import ElasticsearchVectors
from openbrain.adapters.qdrant.vectors import QdrantVectors
from openbrain.domain.access.visibility import AllOf, AnyOf, OneOf
from openbrain.domain.errors import Invalid, SetupError, TryLater
from openbrain.ports.index import VectorIndex, VectorSearch
from tests.support.indexes.entries import EVERYTHING, direction, memory, new_id, tombstone, vector_entry
from tests.support.indexes.vector_engines import (
    DIMENSIONS,
    EAST,
    GENERATION,
    INDEXLESS,
    NORTH,
    SOUTH,
    Engine,
    found,
    found_all,
    write,
)
from tests.support.waiting import PATIENCE_S

pytestmark = INDEXLESS
NOBODY_LISTENS = "http://127.0.0.1:1"


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


async def test_many_searches_answer_as_each_alone(index: VectorIndex) -> None:
    """Some of these searches must ask for more passages, and some must not."""
    long, several = memory(project="p0"), [memory(project=f"p{number % 2}") for number in range(12)]
    await write(
        index,
        *(vector_entry(long, direction(9, number, 1, 0), passage=number) for number in range(30)),
        *(vector_entry(row, direction(1, number - 5, number, 2)) for number, row in enumerate(several)),
    )
    narrow = AllOf((EVERYTHING, OneOf("project", ("p1",))))
    searches = [
        VectorSearch(vector, condition, limit)
        for vector in (EAST, NORTH, SOUTH, direction(1, 2, 3, 4), EAST)
        for condition in (EVERYTHING, narrow, AllOf((AnyOf(()),)))
        for limit in (1, 3, 50)
    ]

    together = await index.search_many(GENERATION, searches, within_s=PATIENCE_S)

    for search, hits in zip(searches, together, strict=True):
        alone = await index.search(GENERATION, search.vector, search.condition, search.limit)
        assert [hit.memory_id for hit in hits] == [hit.memory_id for hit in alone]
        assert [hit.score for hit in hits] == pytest.approx([hit.score for hit in alone], abs=1e-6)
    assert [len(hits) for hits in together[:6]] == [1, 3, 13, 1, 3, 6]
    assert list(await index.search_many(GENERATION, [])) == []


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
