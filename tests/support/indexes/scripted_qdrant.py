"""An HTTP server with scripted answers of a Qdrant server, for cases that the client's local mode never shows."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import orjson
import pytest
from aiohttp import web

from openbrain.adapters.qdrant.vectors import QdrantVectors
from tests.servers.places import free_port

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


def version(number: str) -> Answer:
    return 200, {"title": "qdrant - vector search engine", "version": number, "commit": "x"}


def aliases(**standing: str) -> Answer:
    """Return the aliases: each `ob-NAME` for its collection, and plain `ob` for that of the vectors."""
    named = {f"ob-{name}": each for name, each in standing.items()}
    named |= {"ob": standing["vectors"]} if "vectors" in standing else {}
    return ok({"aliases": [{"alias_name": name, "collection_name": each} for name, each in named.items()]})


DONE = ok({"operation_id": 1, "status": "completed"})
STANDING: dict[str, Answer] = {
    "GET /": version("1.19.0"),
    "GET /aliases": aliases(vectors="ob-first"),
    "GET /collections/ob-first/exists": ok({"exists": True}),
    "GET /collections/ob-first": ok(INFO),
    "POST /collections/ob-first/points/delete": DONE,
    "POST /collections/ob-first/points/batch": ok([{"operation_id": 1, "status": "completed"}]),
}


class Server:
    """Gives each path its scripted answer and keeps the requests."""

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

    def calls(self) -> list[str]:
        return [call for call, _, _ in self.asked]

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
