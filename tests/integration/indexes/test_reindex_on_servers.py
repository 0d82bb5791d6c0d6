"""Both indexes rebuilt on real servers under writes and recalls, with kills in the middle; and the way back.

OPENBRAIN_TEST_REINDEX_MEMORIES sets the size.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from elasticsearch import AsyncElasticsearch

from openbrain.domain.access.permissions import Permission
from openbrain.domain.access.visibility import Criteria, Viewer, visible
from openbrain.ports.store.generations import IndexKind
from openbrain.ports.store.operations import OperationStatus
from openbrain.ports.store.tenants import Workspace
from openbrain.usecases.auth import OPERATORS, hash_secret, issue
from tests.integration.conftest import Servers
from tests.support.cli.services import Services
from tests.support.waiting import PATIENCE_S, until

MEMORIES = int(os.environ.get("OPENBRAIN_TEST_REINDEX_MEMORIES", "150"))
pytestmark = pytest.mark.timeout(900 + MEMORIES // 20)
VIEWER = Viewer(workspace_id="default", agent_id="")
ALL = 10**9
SHIPS = "Ship {0} carries {1} crates of tea."


@asynccontextmanager
async def operators(servers: Servers, url: str) -> AsyncIterator[httpx.AsyncClient]:
    """A client with an operator's key."""
    await servers.store.workspaces.create_workspace(Workspace(id=OPERATORS, name=OPERATORS, created_at=1))
    key, secret = issue(workspace_id=OPERATORS, name="operator", permissions=frozenset(Permission), now=1)
    await servers.store.api_keys.create_key(key, hash_secret(secret))
    headers = {"Authorization": f"Bearer {secret}"}
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=PATIENCE_S) as client:
        yield client


async def indexed(servers: Servers, least: int) -> bool:
    rows = await servers.store.memories.listing(visible(VIEWER, Criteria(), 2**52), ALL)
    return len(rows) >= least and all(row.indexed for row in rows)


class Load:
    """Writes and recalls in turn until `over` is set; no recall may fail or be degraded."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http
        self.written: list[str] = []
        self.recalls = 0
        self.over = asyncio.Event()

    async def write(self) -> None:
        while not self.over.is_set():
            content = f"Lamp {len(self.written)} burns in the harbour."
            made = await self.http.post("/v1/brain/remember", json={"content": content, "type": "fact"})
            assert made.status_code == 201, made.text
            self.written.append(made.json()["id"])
            await asyncio.sleep(0.05)

    async def ask(self) -> None:
        while not self.over.is_set():
            answer = await self.http.post(
                "/v1/brain/recall", json={"query": "crates of tea", "top_k": 5, "precision": "recall"}
            )
            assert answer.status_code == 200, answer.text
            told: dict[str, Any] = answer.json()
            assert not told["degraded"], told["degraded"]
            assert told["memories"]
            self.recalls += 1
            await asyncio.sleep(0.05)


async def ended(operator: httpx.AsyncClient, operation: str) -> dict[str, Any]:
    while True:
        state: dict[str, Any] = (await operator.get(f"/v1/admin/operations/{operation}?wait=20")).json()
        if OperationStatus(state["status"]).ended:
            return state


@pytest.mark.slow("services are killed and come back while both indexes are made anew")
async def test_made_anew_while_serving_and_while_rooms_die(servers: Servers, started: Services) -> None:
    for service in ("ingest", "embedder"):
        started.start(service)
    api = started.start("api")
    doomed = [started.start(service) for service in ("housekeeper", "indexer-text", "indexer-vector")]
    await started.all_ready()
    for number in range(MEMORIES):
        await servers.submit(number, SHIPS.format(number, number * 3))
    await until(lambda: indexed(servers, MEMORIES), 300 + MEMORIES // 50, 0.2)

    async with servers.http(api.url) as http, operators(servers, api.url) as operator, asyncio.TaskGroup() as tasks:
        load = Load(http)
        tasks.create_task(load.write())
        tasks.create_task(load.ask())
        try:
            begun = []
            for kind in IndexKind:
                body = {"index": kind.value, "rate": max(20, MEMORIES // 5)}
                answer = await operator.post("/v1/admin/reindex", json=body)
                assert answer.status_code == 202, answer.text
                begun.append(answer.json()["operation"]["id"])

            async def scanning() -> bool:
                states = [(await operator.get(f"/v1/admin/operations/{each}")).json() for each in begun]
                return all(state["done"] for state in states)

            await until(scanning, 120, 0.05)
            for process in doomed:
                process.kill()
                started.start(process.service)
            reports = [await ended(operator, each) for each in begun]
        finally:
            load.over.set()
    assert load.written
    assert load.recalls
    await until(lambda: indexed(servers, MEMORIES + len(load.written)), 300, 0.2)

    client = AsyncElasticsearch(servers.environment["OPENBRAIN_TEXT__URL"])
    try:
        for kind, report in zip(IndexKind, reports, strict=True):
            assert report["status"] == "done", report["error"]
            assert report["result"]["failures"] == 0
            serving, kept = await servers.store.generations.written(kind)
            assert (serving.status, kept.status) == ("serving", "kept")
            everything = set(load.written) | {row.id for row in await _rows(servers)}
            for each in (serving, kept):
                assert await ids_in(client, each.name) == everything, f"{each.status} {kind}"
            alias = f"{serving.name.rpartition('-text-')[0]}-text" if kind is IndexKind.TEXT else ""
            if alias:
                assert list((await client.indices.get_alias(name=alias)).body) == [serving.name]
            assert await operator_switch(servers, api.url, kind, kept.name) == 200
            assert [each.name for each in await servers.store.generations.written(kind)] == [kept.name, serving.name]
    finally:
        await client.close()


async def _rows(servers: Servers) -> Any:
    return await servers.store.memories.listing(visible(VIEWER, Criteria(), 2**52), ALL)


async def operator_switch(servers: Servers, url: str, kind: IndexKind, name: str) -> int:
    """Switch back to this generation."""
    key, secret = issue(workspace_id=OPERATORS, name="second", permissions=frozenset(Permission), now=1)
    await servers.store.api_keys.create_key(key, hash_secret(secret))
    async with httpx.AsyncClient(
        base_url=url, headers={"Authorization": f"Bearer {secret}"}, timeout=PATIENCE_S
    ) as client:
        return (await client.post(f"/v1/admin/generations/{kind.value}/{name}:switch")).status_code


async def ids_in(client: AsyncElasticsearch, index: str) -> set[str]:
    """The ids of all memories with an entry that is no tombstone."""
    await client.indices.refresh(index=index)
    found: set[str] = set()
    after: Any = None
    while True:
        page = await client.search(
            index=index,
            query={"exists": {"field": "workspace_id"}},
            sort=[{"memory_id": "asc"}],
            size=1000,
            source_includes=["memory_id"],
            search_after=after,
        )
        hits = page["hits"]["hits"]
        if not hits:
            return found
        found.update(hit["_source"]["memory_id"] for hit in hits)
        after = hits[-1]["sort"]
