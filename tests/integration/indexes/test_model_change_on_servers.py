"""The embedding model changes while services run as processes on real servers, and one of them is killed."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from openbrain.adapters.local.clock import SystemClock
from openbrain.domain.access.permissions import Permission
from openbrain.ports.store.generations import IndexKind
from openbrain.ports.store.tenants import Workspace
from openbrain.usecases.auth import OPERATORS, hash_secret, issue
from tests.integration.conftest import Servers, environment, prepared
from tests.servers.plugin import Starter
from tests.servers.processes.process import Server
from tests.support.cli.services import Services, services
from tests.support.waiting import PATIENCE_S, until

WORDS = "harbour lantern granite orchard signal velvet copper meadow".split()
MEMORIES = 60
CHANGE = "/v1/admin/models:change"


@pytest.fixture
async def own_ollama(
    tmp_path: Path, redis_server: Server, mariadb_url: str, elasticsearch_server: Server, private_server: Starter
) -> AsyncIterator[Servers]:
    """Servers with a private Ollama, because its models change."""
    name = f"t{uuid.uuid4().hex[:10]}"
    ollama = private_server("ollama").server
    values = environment(
        name, redis=redis_server, mariadb_url=mariadb_url, elasticsearch=elasticsearch_server, ollama=ollama
    )
    made = await prepared(values, name, tmp_path)
    yield made
    await made.store.close()
    await made.redis.aclose()


async def _make(servers: Servers, name: str, window: int) -> None:
    """Create a model with another name and another window from the one real model; its digest makes it
    another model."""
    made = {"model": name, "from": "all-minilm", "parameters": {"num_ctx": window}, "stream": False}
    async with httpx.AsyncClient(
        base_url=servers.environment["OPENBRAIN_EMBEDDING__URL"], timeout=PATIENCE_S
    ) as ollama:
        (await ollama.post("/api/create", json=made)).raise_for_status()


async def _operators_key(servers: Servers) -> str:
    now = SystemClock().now()
    await servers.store.workspaces.create_workspace(Workspace(id=OPERATORS, name=OPERATORS, created_at=now))
    key, secret = issue(workspace_id=OPERATORS, name="op", permissions=frozenset({Permission.ADMIN}), now=now)
    await servers.store.api_keys.create_key(key, hash_secret(secret))
    return secret


async def _remember(http: httpx.AsyncClient, content: str) -> str:
    answer = await http.post("/v1/brain/remember", json={"content": content, "type": "fact"})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


async def _settled(servers: Servers, model: str) -> None:
    async def none_lacks() -> bool:
        return not await servers.store.vectors.unembedded(model, 2**62, "", 1)

    await until(none_lacks, pause=0.2)


@asynccontextmanager
async def _recalls(http: httpx.AsyncClient) -> AsyncIterator[list[list[str]]]:
    """Recall while the block runs; yield what each answer lacked."""
    lacking: list[list[str]] = []
    over = asyncio.Event()

    async def ask() -> None:
        while not over.is_set():
            query = f"which lantern stands at the harbour {len(lacking)}"
            answer = await http.post("/v1/brain/recall", json={"query": query})
            answer.raise_for_status()
            assert answer.json()["memories"]
            lacking.append(answer.json()["degraded"])
            await asyncio.sleep(0.1)

    task = asyncio.create_task(ask())
    try:
        yield lacking
    finally:
        over.set()
        await task


async def _ended(operator: httpx.AsyncClient, operation: str) -> dict[str, Any]:
    while True:
        state: dict[str, Any] = (await operator.get(f"/v1/admin/operations/{operation}?wait=10")).json()
        if state["status"] not in ("queued", "running"):
            return state


def _start(started: Services) -> None:
    for service in ("housekeeper", "ingest", "embedder", "indexer-text", "indexer-vector", "api"):
        started.start(service)


@pytest.mark.long("tests/flow/indexes/test_model_change.py changes models of the running system and has other weights")
@pytest.mark.slow("an Ollama of its own embeds everything twice")
@pytest.mark.timeout(600)
async def test_a_change_survives_the_death_of_the_embedder_and_then_other_weights(
    own_ollama: Servers, tmp_path: Path
) -> None:
    servers = own_ollama
    await _make(servers, "mine", 128)
    key = await _operators_key(servers)
    with services(servers.environment, tmp_path) as started:
        _start(started)
        await started.all_ready()
        api, embedder = started.started[-1], started.started[2]
        headers = {"Authorization": f"Bearer {key}"}
        async with (
            servers.http(api.url) as http,
            httpx.AsyncClient(base_url=api.url, headers=headers, timeout=PATIENCE_S) as op,
        ):
            for number in range(MEMORIES):
                await _remember(http, f"{WORDS[number % 8]} and {WORDS[number // 8]}, note {number}")
            first = await servers.store.generations.serving(IndexKind.VECTOR)
            assert first is not None
            await _settled(servers, first.model)

            async with _recalls(http) as lacking:
                answer = await op.post(CHANGE, json={"model": "mine", "rate": 20})
                assert answer.status_code == 202, answer.text
                begun = answer.json()

                async def some_are_embedded() -> bool:
                    return await servers.store.vectors.count_inputs(begun["to"]["model_identity"]) >= 5

                await until(some_are_embedded, pause=0.05)
                embedder.kill()
                meanwhile = await _remember(http, "a zeppelin over the meadow")
                started.start("embedder")
                report = await _ended(op, begun["operation"]["id"])
                after = len(lacking)
                await until(lambda: _at_least(lacking, after + 20))

            assert report["status"] == "done", report["error"]
            assert report["result"]["failures"] == 0
            assert {tuple(each) for each in lacking} == {()}, "no recall lacked vectors"
            serving = await servers.store.generations.serving(IndexKind.VECTOR)
            assert serving is not None
            assert (serving.model_name, serving.model) == ("mine", begun["to"]["model_identity"])
            await _settled(servers, serving.model)
            await _settled(servers, first.model)
            await until(lambda: _found(http, "an airship above the grass", meanwhile))

            await _make(servers, "mine", 64)
            answer = await http.post("/v1/brain/recall", json={"query": "nobody asked this before"})
            assert answer.json()["degraded"] == ["vectors"], "questions are not embedded with other weights"
            waits = await _remember(http, "a submarine under the harbour")
            again = (await op.post(CHANGE, json={"model": "mine"})).json()
            report = await _ended(op, again["operation"]["id"])

            assert report["status"] == "done", report["error"]
            assert again["to"]["model_identity"] != begun["to"]["model_identity"]
            await _settled(servers, again["to"]["model_identity"])
            await until(lambda: _found(http, "a boat below the water", waits))


async def _at_least(lacking: list[list[str]], count: int) -> bool:
    return len(lacking) >= count


async def _found(http: httpx.AsyncClient, query: str, memory: str) -> bool:
    answer = (await http.post("/v1/brain/recall", json={"query": query, "top_k": 5, "precision": "recall"})).json()
    return answer["degraded"] == [] and memory in [each["id"] for each in answer["memories"]]
