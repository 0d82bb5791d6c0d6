"""What the Qdrant adapter sends over REST, and how it handles answers that local mode never gives."""

from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs

from openbrain.adapters.qdrant.vectors import QdrantVectors
from openbrain.domain.errors import NeverRetry, OpenBrainError, SetupError, TryLater
from openbrain.ports.index import Tombstone, VectorEntry
from tests.support.indexes.entries import EVERYTHING, direction, memory, new_id, tombstone, vector_entry
from tests.support.indexes.scripted_qdrant import (
    DONE,
    INFO,
    SECRET,
    Answer,
    Server,
    aliases,
    ok,
    server,
    vectors,
    version,
)

__all__ = ["server", "vectors"]

pytestmark = pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection:UserWarning")

EAST = direction(1, 0, 0)


async def test_one_conditional_upsert_for_each_revision(server: Server, vectors: QdrantVectors) -> None:
    first, second, gone = memory(), memory(), memory()
    entries: list[VectorEntry | Tombstone] = [
        vector_entry(first, EAST, revision=2),
        tombstone(gone.id, revision=7),
        vector_entry(second, EAST, revision=2),
    ]
    assert await vectors.write("first", entries) == {}
    call = "POST /collections/ob-first/points/batch"
    assert [query for made, query, _ in server.asked if made == call] == [{"wait": "true", "ordering": "medium"}]
    *upserts, _ = server.bodies(call)[0]["operations"]
    operations = [each["upsert"] for each in upserts]
    fences = [{"must": [{"key": "revision", "range": {"lte": revision}}]} for revision in (2, 7)]
    assert [each["update_filter"] for each in operations] == fences
    assert [[point["id"] for point in each["points"]] for each in operations] == [[first.id, second.id], [gone.id]]
    assert operations[0]["points"][0]["vector"] == {"v": [1, 0, 0]}
    removed = operations[1]["points"][0]
    assert removed["vector"] == {}
    assert set(removed["payload"]) == {"memory_id", "revision", "bucket"}
    assert server.keys == {"k"}


async def test_a_new_collection_has_its_tenant_its_indexes_and_its_alias(
    server: Server, vectors: QdrantVectors
) -> None:
    """Between two checks another process creates the collection: our request is refused, and that is fine."""
    looks = iter((False, True, True))
    server.answers["GET /collections/ob-first/exists"] = lambda _: ok({"exists": next(looks)})
    server.answers["PUT /collections/ob-first"] = 409, {"status": {"error": "already exists"}, "time": 0.0}
    server.answers["PUT /collections/ob-first/index"] = DONE
    server.answers["GET /aliases"] = aliases()
    server.answers["POST /collections/aliases"] = ok(True)
    await vectors.prepare("first", 3)
    made = server.bodies("PUT /collections/ob-first")[0]
    assert made["vectors"] == {"v": {"size": 3, "distance": "Cosine"}}
    assert made["hnsw_config"] == {"m": 0, "payload_m": 16}
    indexes = {each["field_name"]: each["field_schema"] for each in server.bodies("PUT /collections/ob-first/index")}
    assert indexes["workspace_id"] == {"type": "keyword", "is_tenant": True}
    assert {field: schema["type"] for field, schema in indexes.items()} == {
        **dict.fromkeys(("workspace_id", "org", "project", "agent_id", "memory_scope"), "keyword"),
        **dict.fromkeys(("audience", "type", "tags", "source", "metadata_pairs"), "keyword"),
        "confidence": "float",
        **dict.fromkeys(("occurred_at", "expires_at", "removed_at", "revision", "bucket"), "integer"),
    }
    assert server.bodies("POST /collections/aliases") == [
        {"actions": [{"create_alias": {"collection_name": "ob-first", "alias_name": name}}]}
        for name in ("ob-vectors", "ob")
    ]


async def test_a_plain_name_that_a_collection_has_is_left_to_it(server: Server, vectors: QdrantVectors) -> None:
    server.answers["PUT /collections/ob-first/index"] = DONE
    server.answers["GET /aliases"] = aliases()

    def no_collection(body: Any) -> Answer:
        (action,) = body["actions"]
        taken = action["create_alias"]["alias_name"] == "ob"
        return (409, {"status": {"error": "Collection `ob` already exists!"}, "time": 0.0}) if taken else ok(True)

    server.answers["POST /collections/aliases"] = no_collection
    with capture_logs() as logs:
        await vectors.prepare("first", 3)

    assert [each["name"] for each in logs if each["event"] == "qdrant.name_taken"] == ["ob"]


async def test_alias_and_plain_name_follow_what_serves(server: Server, vectors: QdrantVectors) -> None:
    """But a plain name that belongs to somebody else's collection stays."""
    server.answers["POST /collections/aliases"] = ok(True)
    await vectors.expose("next")
    server.answers["GET /aliases"] = ok(
        {
            "aliases": [
                {"alias_name": "ob-vectors", "collection_name": "ob-first"},
                {"alias_name": "ob", "collection_name": "theirs"},
            ]
        }
    )
    await vectors.expose("next")

    def moved(name: str) -> Any:
        made = {"create_alias": {"collection_name": "ob-next", "alias_name": name}}
        return {"actions": [{"delete_alias": {"alias_name": name}}, made]}

    assert server.bodies("POST /collections/aliases") == [moved("ob-vectors"), moved("ob"), moved("ob-vectors")]


async def test_an_alias_that_stands_is_left_alone(server: Server, vectors: QdrantVectors) -> None:
    server.answers["PUT /collections/ob-first/index"] = DONE
    server.answers["GET /aliases"] = aliases(vectors="ob-zero")
    await vectors.prepare("first", 3)
    assert server.bodies("POST /collections/aliases") == []


async def test_a_foreign_collection_is_not_touched(server: Server, vectors: QdrantVectors) -> None:
    params = {"params": {"vectors": {"size": 3, "distance": "Cosine"}}}
    server.answers["GET /collections/ob-first"] = ok({**INFO, "config": {**INFO["config"], **params}})  # type: ignore[dict-item]
    with pytest.raises(SetupError, match="COLLECTION"):
        await vectors.prepare("first", 3)


@pytest.mark.parametrize(
    ("status", "headers", "expected"),
    [
        (401, {}, SetupError),
        (403, {}, SetupError),
        (404, {}, TryLater),
        (408, {}, TryLater),
        (429, {}, TryLater),
        (429, {"Retry-After": "3"}, TryLater),
        (429, {"Retry-After": "Sun, 06 Nov 2094 08:49:37 GMT"}, TryLater),
        (500, {}, TryLater),
        (503, {}, TryLater),
        (400, {}, NeverRetry),
        (422, {}, NeverRetry),
    ],
)
async def test_what_an_answer_means(
    server: Server, vectors: QdrantVectors, status: int, headers: dict[str, str], expected: type[OpenBrainError]
) -> None:
    server.otherwise = status, {"status": {"error": SECRET}, "time": 0.0}
    server.headers = headers
    with pytest.raises(expected) as caught:
        await vectors.read("first", [new_id()])
    assert SECRET not in str(caught.value)
    with pytest.raises(expected):
        await vectors.search("first", EAST, EVERYTHING, 1)


async def test_a_server_that_does_not_answer_in_time(server: Server) -> None:
    server.delay_s = 2
    vectors = QdrantVectors(f"http://127.0.0.1:{server.port}", "ob", api_key="k", timeout_s=1)
    with pytest.raises(TryLater, match="Timeout"):
        await vectors.read("first", [new_id()])
    await vectors.close()


async def test_an_answer_that_makes_no_sense(server: Server, vectors: QdrantVectors) -> None:
    server.otherwise = ok("nonsense")
    with pytest.raises(TryLater):
        await vectors.read("first", [new_id()])


async def test_one_refused_point_does_not_hurt_the_others(server: Server, vectors: QdrantVectors) -> None:
    rows = [memory() for _ in range(7)]
    bad = rows[3].id
    taken: list[str] = []

    def batch(body: Any) -> Answer:
        ids = [point["id"] for each in body["operations"] for point in each["upsert"]["points"]]
        if bad in ids:
            return 400, {"status": {"error": SECRET}, "time": 0.0}
        taken.extend(ids)
        return ok([])

    server.answers["POST /collections/ob-first/points/batch"] = batch
    failed = await vectors.write("first", [vector_entry(row, EAST, revision=1) for row in rows])
    assert list(failed) == [bad]
    assert isinstance(failed[bad], NeverRetry)
    assert sorted(taken) == sorted(row.id for row in rows if row.id != bad)


@pytest.mark.parametrize("number", ["1.15.4", "1.16.3", "1.16.0-dev"])
async def test_a_server_that_is_too_old_is_refused_at_start_and_told(
    server: Server, vectors: QdrantVectors, number: str
) -> None:
    server.answers["GET /"] = version(number)
    checked = await vectors.check()
    assert (checked.product, checked.version) == ("Qdrant", number)
    assert "1.17" in checked.problems[0]
    with pytest.raises(SetupError, match=r"1\.17"):
        await vectors.prepare("first", 3)
    assert not [call for call in server.calls() if not call.startswith("GET")], "nothing was made on it"


@pytest.mark.parametrize(("number", "told"), [("1.17.0", True), ("1.18.3", True), ("1.19.0", False), ("2.0.1", False)])
async def test_a_server_that_could_be_newer_is_told_at_start(
    server: Server, vectors: QdrantVectors, number: str, told: bool
) -> None:
    server.answers["GET /"] = version(number)
    server.answers["PUT /collections/ob-first/index"] = DONE
    with structlog.testing.capture_logs() as lines:
        await vectors.prepare("first", 3)
    assert [line["version"] for line in lines if line["event"] == "qdrant.older"] == [number] * told
    assert (await vectors.check()).problems == ()
