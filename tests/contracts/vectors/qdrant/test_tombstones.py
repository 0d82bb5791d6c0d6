"""Tombstones on a Qdrant server hold no vector.

Servers 1.16 to 1.18 merge an upsert without a vector into an existing point with one, if that is in an optimized
segment. Local mode does not, so `Merging` simulates it, and the requests that are sent are checked.
"""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openbrain.adapters.qdrant import reconciliation
from openbrain.adapters.qdrant.vectors import QdrantVectors
from openbrain.ports.index import Tombstone, VectorEntry
from tests.support.forms import examples
from tests.support.indexes.entries import direction, memory, tombstone, vector_entry
from tests.support.indexes.merging_qdrant import Merging, left_by_an_earlier_version
from tests.support.indexes.scripted_qdrant import DONE, INFO, Server, ok, server, vectors

__all__ = ["server", "vectors"]

pytestmark = pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection:UserWarning")
EAST = direction(1, 0, 0)
BATCH = "POST /collections/ob-first/points/batch"
NO_DIGEST = {"is_empty": {"key": "digest"}}
TOMBSTONES = {"must": [{"is_empty": {"key": "workspace_id"}}, NO_DIGEST]}
WITH_VECTOR = {"must": [TOMBSTONES, {"has_vector": "v"}]}


@pytest.fixture
async def merging() -> AsyncIterator[tuple[Merging, QdrantVectors]]:
    client = Merging(":memory:")
    index = QdrantVectors(lambda: client, "ob")
    await index.prepare("first", 3)
    yield client, index
    await index.close()


async def test_the_vectors_of_tombstones_are_deleted_behind_all_upserts(server: Server, vectors: QdrantVectors) -> None:
    living, gone, other = memory(), memory(), memory()
    entries: list[VectorEntry | Tombstone] = [tombstone(gone.id, revision=7)]
    entries += [vector_entry(living, EAST, revision=9), tombstone(other.id, revision=8)]
    assert await vectors.write("first", entries) == {}
    (body,) = server.bodies(BATCH)
    *upserts, last = body["operations"]
    assert [list(each) for each in upserts] == [["upsert"]] * 3
    within = {"must": [{"has_id": [gone.id, other.id]}, NO_DIGEST]}
    assert last == {"delete_vectors": {"filter": within, "vector": ["v"]}}


async def test_without_tombstones_nothing_is_deleted(server: Server, vectors: QdrantVectors) -> None:
    assert await vectors.write("first", [vector_entry(memory(), EAST)]) == {}
    assert [list(each) for each in server.bodies(BATCH)[0]["operations"]] == [["upsert"]]


async def test_every_request_clears_its_own(server: Server, vectors: QdrantVectors) -> None:
    """Whatever the size of a batch, every tombstone is cleared."""
    removed = [tombstone(memory().id, revision=1) for _ in range(300)]
    assert await vectors.write("first", removed) == {}
    bodies = server.bodies(BATCH)
    assert len(bodies) == 3
    for body in bodies:
        ids = [point["id"] for each in body["operations"] if "upsert" in each for point in each["upsert"]["points"]]
        (cleared,) = [each["delete_vectors"] for each in body["operations"] if "delete_vectors" in each]
        assert cleared["filter"]["must"][0] == {"has_id": ids}


_rows = st.integers(0, 2)
_writes = st.lists(
    st.lists(st.tuples(_rows, st.integers(1, 6), st.booleans()), min_size=1, max_size=4), min_size=1, max_size=6
)


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(writes=_writes)
async def test_after_any_writes_what_lives_has_a_vector_and_nothing_else(
    merging: tuple[Merging, QdrantVectors], writes: list[list[tuple[int, int, bool]]]
) -> None:
    client, index = merging
    rows = [memory() for _ in range(3)]
    for batch in writes:
        await index.write(
            "first",
            [
                tombstone(rows[row].id, revision=revision) if gone else vector_entry(rows[row], EAST, revision=revision)
                for row, revision, gone in batch
            ],
        )
    standing = await index.read("first", [row.id for row in rows])
    holding = await client.holding("ob-first")
    assert {each: holding[each] for each in standing} == {each: not one.tombstone for each, one in standing.items()}
    assert await index.left_vectors("first") == 0


async def test_what_earlier_versions_left_is_counted_and_cleared(
    merging: tuple[Merging, QdrantVectors], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One page at a time; live entries keep their vectors."""
    monkeypatch.setattr(reconciliation, "PAGE", 3)
    client, index = merging
    living = await left_by_an_earlier_version(client, "ob-first", EAST, 8)
    assert await index.left_vectors("first") == 8
    assert await index.left_vectors("first", clear=True) == 8
    assert await index.left_vectors("first") == 0
    assert {each for each, has in (await client.holding("ob-first")).items() if has} == set(living)


async def test_an_erasure_looks_for_them(merging: tuple[Merging, QdrantVectors]) -> None:
    client, index = merging
    await left_by_an_earlier_version(client, "ob-first", EAST, 2)
    assert (await index.scrub("first")).details["vectors_removed"] == 2
    assert (await index.scrub("first")).details["vectors_removed"] == 0


async def test_an_upgraded_collection_is_swept_once_and_loses_the_index_that_nobody_asks(
    server: Server, vectors: QdrantVectors
) -> None:
    """The index of an earlier version shows that it wrote here. It is deleted last, so that a failed sweep is
    repeated."""
    schema = {"memory_id": {"data_type": "keyword", "points": 9}}
    server.answers["GET /collections/ob-first"] = ok({**INFO, "payload_schema": schema})
    server.answers["PUT /collections/ob-first/index"] = DONE
    server.answers["DELETE /collections/ob-first/index/memory_id"] = DONE
    ids = [memory().id for _ in range(2)]
    page = ok({"points": [{"id": each, "payload": None} for each in ids], "next_page_offset": None})
    server.answers["POST /collections/ob-first/points/scroll"] = page
    server.answers["POST /collections/ob-first/points/vectors/delete"] = 500, {"status": {"error": "x"}, "time": 0.0}
    with pytest.raises(Exception, match="busy"):
        await vectors.prepare("first", 3)
    assert "DELETE /collections/ob-first/index/memory_id" not in server.calls()

    server.answers["POST /collections/ob-first/points/vectors/delete"] = DONE
    await vectors.prepare("first", 3)
    assert server.bodies("POST /collections/ob-first/points/scroll")[-1]["filter"] == WITH_VECTOR
    (_, cleared) = server.bodies("POST /collections/ob-first/points/vectors/delete")
    assert cleared == {"vector": ["v"], "filter": {"must": [{"has_id": ids}, NO_DIGEST]}}
    assert server.calls().count("DELETE /collections/ob-first/index/memory_id") == 1

    server.asked.clear()
    server.answers["GET /collections/ob-first"] = ok(INFO)
    await vectors.prepare("first", 3)
    assert "POST /collections/ob-first/points/scroll" not in server.calls(), "once"


async def test_old_tombstones_are_dropped_in_pages(server: Server, vectors: QdrantVectors) -> None:
    """Each delete names the ids that were read and checks their age again: what has become live since stays."""
    pages = [[memory().id for _ in range(size)] for size in (1000, 1000, 7)]
    after = [page[0] for page in pages[1:]] + [None]
    left = iter(zip(pages, after, strict=True))

    def scroll(_: Any) -> Any:
        ids, offset = next(left)
        return ok({"points": [{"id": each, "payload": None} for each in ids], "next_page_offset": offset})

    server.answers["POST /collections/ob-first/points/scroll"] = scroll
    server.answers["POST /collections/ob-first/points/delete"] = DONE
    assert await vectors.drop_tombstones("first", 9) == 2007
    age = {"key": "removed_at", "range": {"lt": 9}}
    asked = server.bodies("POST /collections/ob-first/points/delete")
    assert asked == [{"filter": {"must": [{"has_id": ids}, age]}} for ids in pages]
