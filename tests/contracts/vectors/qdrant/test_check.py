"""What `check` reports of a Qdrant server: local mode has no keys, no permissions and nobody who deletes things by
hand."""

import pytest

from openbrain.adapters.qdrant.vectors import QdrantVectors
from openbrain.domain.errors import NeverRetry, OpenBrainError, SetupError, TryLater
from tests.support.indexes.entries import EVERYTHING, direction, new_id
from tests.support.indexes.scripted_qdrant import DONE, INFO, Answer, Server, aliases, ok, server, vectors

__all__ = ["server", "vectors"]

pytestmark = pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection:UserWarning")
WRITE = "POST /collections/ob-first/points/delete"
REFUSED: list[tuple[int, type[OpenBrainError]]] = [
    *((status, SetupError) for status in (401, 403)),
    *((status, TryLater) for status in (408, 429, 500, 503)),
    *((status, NeverRetry) for status in (400, 422)),
]


def _answer(status: int) -> Answer:
    return status, {"status": {"error": "x"}, "time": 0.0}


@pytest.fixture
async def writer(server: Server, vectors: QdrantVectors) -> QdrantVectors:
    """An index object that has created its index, as writing services do at start."""
    server.answers["PUT /collections/ob-first/index"] = DONE
    await vectors.prepare("first", 3)
    return vectors


@pytest.mark.parametrize(("status", "expected"), REFUSED)
async def test_a_wrong_key_is_not_well(
    server: Server, vectors: QdrantVectors, status: int, expected: type[OpenBrainError]
) -> None:
    """A server tells its version to anybody, so the version alone does not prove the key."""
    server.answers["GET /aliases"] = _answer(status)
    with pytest.raises(expected):
        await vectors.check()


@pytest.mark.parametrize(("status", "expected"), REFUSED)
async def test_who_writes_tries_to(
    server: Server, writer: QdrantVectors, status: int, expected: type[OpenBrainError]
) -> None:
    """Checked with a read-only key, and with a full disk."""
    assert (await writer.check()).problems == ()
    server.answers[WRITE] = _answer(status)
    with pytest.raises(expected):
        await writer.check()


async def test_the_write_that_is_tried_changes_nothing(server: Server, writer: QdrantVectors) -> None:
    await writer.check()
    assert server.bodies(WRITE) == [{"filter": {"must": [{"has_id": ["00000000-0000-0000-0000-000000000000"]}]}}]


async def test_nothing_is_written_to_a_collection_that_others_named(server: Server, writer: QdrantVectors) -> None:
    """The alias may point to a collection that this process does not write."""
    server.answers["GET /aliases"] = aliases(vectors="somebody's")
    assert (await writer.check()).problems == ()
    assert not [call for call in server.calls() if call.endswith("/delete")]


async def test_who_only_reads_writes_nothing(server: Server, vectors: QdrantVectors) -> None:
    server.answers["POST /collections/ob-first/points"] = ok([])
    await vectors.read("first", [new_id()])
    await vectors.check()
    assert server.bodies(WRITE) == []


async def test_before_anything_is_made_nothing_is_missing(server: Server, vectors: QdrantVectors) -> None:
    server.answers["GET /aliases"] = aliases()
    assert (await vectors.check()).problems == ()
    assert await vectors.exists("first")
    server.answers["GET /collections/ob-first/exists"] = ok({"exists": False})
    assert not await vectors.exists("first")


async def test_a_collection_that_was_deleted_by_hand_is_told(server: Server, writer: QdrantVectors) -> None:
    """Its alias is deleted with it; another collection, kept for going back, stays. Cached knowledge of the deleted
    one is dropped, too; once it is created anew, all is well."""
    server.answers["GET /collections/ob-kept/exists"] = ok({"exists": True})
    server.answers["GET /collections/ob-kept"] = ok(INFO)
    server.answers["PUT /collections/ob-kept/index"] = DONE
    await writer.prepare("kept", 3)
    standing = dict(server.answers)
    server.answers["GET /aliases"] = aliases()
    server.answers["GET /collections/ob-first/exists"] = ok({"exists": False})
    for _ in range(2):
        with pytest.raises(TryLater, match="ob-first is missing"):
            await writer.check()
    with pytest.raises(TryLater, match="ob-first is missing"):
        await writer.search("first", direction(1, 0, 0), EVERYTHING, 1)
    server.answers = standing
    await writer.prepare("first", 3)
    assert (await writer.check()).problems == ()


async def test_an_alias_alone_that_was_deleted_is_a_problem_for_others(server: Server, writer: QdrantVectors) -> None:
    server.answers["GET /aliases"] = aliases()
    (problem,) = (await writer.check()).problems
    assert "ob-vectors" in problem
