"""What the Qdrant adapter sends over REST, and what it makes of answers that local mode never gives."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import orjson
import pytest
from aiohttp import web

from openbrain.adapters.qdrant_vectors import QdrantVectors
from openbrain.errors import NeverRetry, OpenBrainError, SetupError, TryLater
from openbrain.ports.index import Tombstone, VectorEntry
from tests.servers.places import free_port
from tests.support.indexes.entries import EVERYTHING, direction, memory, new_id, tombstone, vector_entry

pytestmark = pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection:UserWarning")

EAST = direction(1, 0, 0)
SECRET = "secret words of a memory"
Answer = tuple[int, dict[str, Any]]
INFO = {
    "status": "green",
    "optimizer_status": "ok",
    "segments_count": 1,
    "payload_schema": {},
    "config": {
        "params": {"vectors": {"v": {"size": 3, "distance": "Cosine"}}},
        "hnsw_config": {"m": 0, "ef_construct": 100, "full_scan_threshold": 10000},
        "optimizer_config": {
            "deleted_threshold": 0.2,
            "vacuum_min_vector_number": 1000,
            "default_segment_number": 0,
            "flush_interval_sec": 5,
        },
    },
}


def ok(result: object) -> Answer:
    return 200, {"result": result, "status": "ok", "time": 0.0}


STANDING: dict[str, Answer] = {
    "GET /collections/ob-first/exists": ok({"exists": True}),
    "GET /collections/ob-first": ok(INFO),
    "POST /collections/ob-first/points/batch": ok([{"operation_id": 1, "status": "completed"}]),
}


class Server:
    """Answers each path with what it was told, and remembers what it was asked."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer | Callable[[Any], Answer]] = dict(STANDING)
        self.otherwise: Answer = 404, {"status": {"error": SECRET}, "time": 0.0}
        self.headers: dict[str, str] = {}
        self.delay_s = 0.0
        self.asked: list[tuple[str, dict[str, str], Any]] = []
        self.keys: set[str] = set()
        self.port = free_port()

    async def __call__(self, request: web.BaseRequest) -> web.Response:
        raw = await request.read()
        body = orjson.loads(raw) if raw else None
        call = f"{request.method} {request.path}"
        self.asked.append((call, dict(request.query), body))
        self.keys.add(request.headers.get("api-key", ""))
        await asyncio.sleep(self.delay_s)
        answer = self.answers.get(call, self.otherwise)
        status, content = answer(body) if callable(answer) else answer
        return web.json_response(content, status=status, headers=self.headers)

    def bodies(self, call: str) -> list[Any]:
        return [body for made, _, body in self.asked if made == call]


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    server = Server()
    runner = web.ServerRunner(web.Server(server))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", server.port).start()
    yield server
    await runner.cleanup()


@pytest.fixture
async def vectors(server: Server) -> AsyncIterator[QdrantVectors]:
    vectors = QdrantVectors(f"http://127.0.0.1:{server.port}", "ob", api_key="k", timeout_s=60)
    yield vectors
    await vectors.close()


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
    operations = [each["upsert"] for each in server.bodies(call)[0]["operations"]]
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
    """Between two looks another process makes the collection: ours is refused, and that is fine."""
    looks = iter((False, True, True))
    server.answers["GET /collections/ob-first/exists"] = lambda _: ok({"exists": next(looks)})
    server.answers["PUT /collections/ob-first"] = 409, {"status": {"error": "already exists"}, "time": 0.0}
    server.answers["PUT /collections/ob-first/index"] = ok({"operation_id": 1, "status": "completed"})
    server.answers["GET /aliases"] = ok({"aliases": []})
    server.answers["POST /collections/aliases"] = ok(True)
    await vectors.prepare("first", 3)
    made = server.bodies("PUT /collections/ob-first")[0]
    assert made["vectors"] == {"v": {"size": 3, "distance": "Cosine"}}
    assert made["hnsw_config"] == {"m": 0, "payload_m": 16}
    indexes = {each["field_name"]: each["field_schema"] for each in server.bodies("PUT /collections/ob-first/index")}
    assert indexes["workspace_id"] == {"type": "keyword", "is_tenant": True}
    assert {field: schema["type"] for field, schema in indexes.items()} == {
        **dict.fromkeys(("workspace_id", "org", "project", "agent_id", "memory_scope"), "keyword"),
        **dict.fromkeys(("audience", "type", "tags", "source", "memory_id"), "keyword"),
        "confidence": "float",
        **dict.fromkeys(("occurred_at", "expires_at", "removed_at", "revision", "bucket"), "integer"),
    }
    alias = {"create_alias": {"collection_name": "ob-first", "alias_name": "ob-vectors"}}
    assert server.bodies("POST /collections/aliases") == [{"actions": [alias]}]


async def test_an_alias_that_stands_is_left_alone(server: Server, vectors: QdrantVectors) -> None:
    server.answers["PUT /collections/ob-first/index"] = ok({"operation_id": 1, "status": "completed"})
    server.answers["GET /aliases"] = ok({"aliases": [{"alias_name": "ob-vectors", "collection_name": "ob-zero"}]})
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
    server.delay_s = 5
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


async def test_a_server_without_conditional_writes_is_told(server: Server, vectors: QdrantVectors) -> None:
    server.answers["GET /"] = 200, {"title": "qdrant - vector search engine", "version": "1.15.4", "commit": "x"}
    checked = await vectors.check()
    assert (checked.product, checked.version) == ("Qdrant", "1.15.4")
    assert "1.16" in checked.problems[0]
