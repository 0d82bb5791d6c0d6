"""Repair of what Redis loses and of what a restored MariaDB does not know any more, with Elasticsearch for text and
vectors."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.engine.opening import open_database
from openbrain.adapters.sql.schema.tables import memories, memory_passages
from openbrain.domain.access.permissions import Permission
from openbrain.domain.access.visibility import Criteria, Viewer, visible
from openbrain.domain.times import from_datetime
from openbrain.ports.store.tenants import Workspace
from openbrain.usecases.auth import OPERATORS, hash_secret, issue
from tests.integration.conftest import Servers, environment, prepared
from tests.servers.plugin import Starter, need
from tests.servers.processes.process import Server
from tests.servers.tools.faketime import wrong_by
from tests.support.cli.services import Services, services
from tests.support.waiting import PATIENCE_S, until

pytestmark = pytest.mark.timeout(600)
VIEWER = Viewer(workspace_id="default", agent_id="")
# Columns that MariaDB computes can't be inserted.
PUT_BACK = {
    table.name: ", ".join(f"`{column.name}`" for column in table.columns if column.computed is None)
    for table in (memories, memory_passages)
}


@pytest.fixture(params=["redis", "valkey"])
def streams(request: pytest.FixtureRequest, private_server: Starter) -> Server:
    """A private stream server, because it is flushed."""
    return private_server(request.param).server


@pytest.fixture
async def servers(
    tmp_path: Path, streams: Server, mariadb_url: str, elasticsearch_server: Server, ollama_server: Server
) -> AsyncIterator[Servers]:
    name = f"t{uuid.uuid4().hex[:10]}"
    values = environment(
        name, redis=streams, mariadb_url=mariadb_url, elasticsearch=elasticsearch_server, ollama=ollama_server
    )
    values |= {"OPENBRAIN_HOUSEKEEPING__TUNING__GRACE_S": "1", "OPENBRAIN_HOUSEKEEPING__TUNING__RECONCILE_EVERY_S": "1"}
    made = await prepared(values, name, tmp_path)
    yield made
    await made.store.close()
    await made.redis.aclose()


async def operator(servers: Servers, url: str) -> httpx.AsyncClient:
    await servers.store.workspaces.create_workspace(Workspace(id=OPERATORS, name="operators", created_at=1))
    key, secret = issue(workspace_id=OPERATORS, name="operator", permissions=frozenset({Permission.ADMIN}), now=1)
    await servers.store.api_keys.create_key(key, hash_secret(secret))
    return httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {secret}"}, timeout=PATIENCE_S)


async def verified(http: httpx.AsyncClient, **asked: bool) -> dict[str, Any]:
    begun = await http.post("/v1/admin/verify", json=asked)
    assert begun.status_code == 202, begun.text
    path = f"/v1/admin/operations/{begun.json()['id']}"

    async def ended() -> bool:
        return (await http.get(path)).json()["finished_at"] is not None

    await until(ended, pause=0.1)
    found = (await http.get(path)).json()
    assert found["status"] == "done", found
    told: dict[str, Any] = found["result"]
    return told


async def equal(http: httpx.AsyncClient) -> bool:
    told = await verified(http, full=True, repair=True)
    return bool(told["equal"] and not told["queued"])


async def all_indexed(servers: Servers, count: int) -> bool:
    found = await servers.store.memories.listing(visible(VIEWER, Criteria(), 2**52), count + 1)
    return len(found) == count and all(row.indexed for row in found)


async def all_rooms(started: Services) -> str:
    for service in ("housekeeper", "ingest", "embedder", "indexer-text", "indexer-vector"):
        started.start(service)
    api = started.start("api")
    await started.all_ready()
    return api.url


async def test_a_flush_in_the_middle_of_traffic_loses_nothing(servers: Servers, tmp_path: Path) -> None:
    with services(servers.environment, tmp_path) as started:
        url = await all_rooms(started)
        async with servers.http(url) as http:

            async def write(first: int) -> None:
                for number in range(first, first + 30):
                    body = {"content": f"Barge {number} carries {number * 3} crates.", "type": "fact"}
                    assert (await http.post("/v1/brain/remember", json=body)).status_code == 201

            writers = [asyncio.create_task(write(first)) for first in (0, 100, 200)]
            for _ in range(3):
                await asyncio.sleep(0.3)
                await servers.redis.flushall()
            await asyncio.gather(*writers)
            await servers.redis.flushall()

        await until(lambda: all_indexed(servers, 90), 300, 0.5)
        async with await operator(servers, url) as admin:
            await until(lambda: equal(admin), 300, 0.5)


@pytest.mark.long("clocks an hour off: tests/properties/delivery/test_08_clock_skew.py; a flush: above")
@pytest.mark.slow("five installed processes start, each with a clock of its own")
@pytest.mark.servers("faketime")
async def test_processes_on_wrong_clocks_lose_nothing_to_a_flush(servers: Servers, tmp_path: Path) -> None:
    """The process that stamps is half an hour ahead, the one that compares half an hour behind."""
    need("faketime")
    wrong = {"api": 1800, "housekeeper": -1800, "embedder": 900, "indexer-text": -900, "indexer-vector": 3600}
    with services(servers.environment, tmp_path, installed=True) as started:
        processes = {service: started.start(service, **wrong_by(seconds)) for service, seconds in wrong.items()}
        await started.all_ready()
        async with servers.http(processes["api"].url) as http:
            for number in range(30):
                body = {"content": f"Barge {number} carries {number * 3} crates.", "type": "fact"}
                answer = await http.post("/v1/brain/remember", json=body)
                assert answer.status_code == 201
                made = datetime.fromisoformat(answer.json()["created_at"])
                assert abs(from_datetime(made) - await servers.store.time()) < 300_000_000
                if number % 10 == 9:
                    await servers.redis.flushall()
        await until(lambda: all_indexed(servers, 30), 300, 0.5)


@pytest.fixture
async def database(servers: Servers) -> AsyncIterator[Database]:
    """The database, for changes that no service makes."""
    opened = open_database(servers.environment["OPENBRAIN_TRUTH__URL"])
    yield opened
    await opened.close()


async def test_a_database_put_back_under_living_indexes(servers: Servers, database: Database, tmp_path: Path) -> None:
    with services(servers.environment, tmp_path) as started:
        url = await all_rooms(started)
        async with servers.http(url) as http, await operator(servers, url) as admin:
            ids = []
            for number in range(20):
                body = {"content": f"Crane {number} lifts {number * 7} tons.", "type": "fact"}
                ids.append((await http.post("/v1/brain/remember", json=body)).json()["id"])
            await until(lambda: all_indexed(servers, 20), 300, 0.2)
            await statements(
                database,
                *(f"CREATE TABLE kept_{each} AS SELECT {columns} FROM {each}" for each, columns in PUT_BACK.items()),
            )
            for each in ids[:5]:
                for number in range(2):
                    body = {"content": f"It was scrapped {number} times, {each}."}
                    assert (await http.patch(f"/v1/brain/memories/{each}", json=body)).status_code == 200
            for each in ids[5:10]:
                assert (await http.delete(f"/v1/brain/memories/{each}")).status_code == 200
            added = {"content": "A crane that the backup does not know.", "type": "fact"}
            unknown = (await http.post("/v1/brain/remember", json=added)).json()["id"]
            await until(lambda: all_indexed(servers, 16), 300, 0.2)

            emptied = [f"DELETE FROM {each}" for each in PUT_BACK]
            put_back = [
                f"INSERT INTO {each} ({columns}) SELECT {columns} FROM kept_{each}"
                for each, columns in PUT_BACK.items()
            ]
            await statements(database, *emptied, *put_back)
            told = await verified(admin, repair=True)

            assert not told["equal"]
            found = [{name: count for name, count in each["faults"].items() if count} for each in told["indexes"]]
            assert all(each.get("ghost", 0) >= 1 and each.get("ahead", 0) >= 1 for each in found[:1]), found
            await until(lambda: equal(admin), 300, 0.5)
            await until(lambda: all_indexed(servers, 20), 300, 0.2)
            answer = (
                await http.post(
                    "/v1/brain/recall", json={"query": "crane lifts tons", "top_k": 40, "precision": "recall"}
                )
            ).json()
            assert {each["id"] for each in answer["memories"]} == set(ids)
            assert unknown not in ids


async def statements(database: Database, *several: str) -> None:
    await database.write(lambda connection: [connection.execute(text(each)) and None for each in several])
