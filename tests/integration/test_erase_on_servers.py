"""Erasing and cleaning on Redis, MariaDB and Elasticsearch: nothing is left in tables, streams, indexes, logs and the
servers' files; also if the housekeeper is killed in the middle."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from openbrain.domain.access.visibility import Criteria, Viewer, visible
from tests.integration.conftest import Servers, environment, prepared
from tests.servers.plugin import Starter
from tests.servers.processes.process import Server, ServerProcess
from tests.support.cli.services import Services, services
from tests.support.processes.searching import in_files, in_streams, in_tables
from tests.support.waiting import until

pytestmark = pytest.mark.timeout(600)
MARK = "Xyzzyqwertzuiop"
NAME = "Qwzxasdfghjkl"
"""The name in an address that is cleaned."""
VIEWER = Viewer(workspace_id="default", agent_id="")


@pytest.fixture
def owned(private_server: Starter) -> tuple[ServerProcess, ServerProcess]:
    """A Redis and an Elasticsearch whose files only this test uses."""
    return private_server("redis"), private_server("elasticsearch")


@pytest.fixture
async def servers(
    tmp_path: Path, owned: tuple[ServerProcess, ServerProcess], mariadb_url: str, ollama_server: Server
) -> AsyncIterator[Servers]:
    name = f"t{uuid.uuid4().hex[:10]}"
    redis, elasticsearch = (each.server for each in owned)
    values = environment(name, redis=redis, mariadb_url=mariadb_url, elasticsearch=elasticsearch, ollama=ollama_server)
    made = await prepared(values, name, tmp_path)
    for option, value in (("rdbcompression", "no"), ("appendonly", "yes"), ("appendfsync", "always")):
        await made.redis.config_set(option, value)
    yield made
    await made.store.close()
    await made.redis.aclose()


async def everywhere(servers: Servers, owned: tuple[ServerProcess, ServerProcess]) -> list[str]:
    found: list[str] = []
    for word in (MARK, NAME):
        files = [await asyncio.to_thread(in_files, each.data, word) for each in owned]
        found += [*await in_tables(servers.store, word), *await in_streams(servers.redis, word), *files[0], *files[1]]
    return found


async def cleaned(http: httpx.AsyncClient) -> None:
    begun = await http.post("/v1/admin/lifecycle:clean", json={"strip_pii": True, "dry_run": False})
    operation_id = begun.json()["operation"]["id"]

    async def done() -> bool:
        return bool((await operation(http, operation_id))["status"] == "done")

    await until(done, 240, 0.5)
    result = (await operation(http, operation_id))["result"]
    assert result["cleaned"] == 1, result


async def all_indexed(servers: Servers, count: int) -> bool:
    found = await servers.store.memories.listing(visible(VIEWER, Criteria(), 2**52), count + 1)
    return len(found) == count and all(row.indexed for row in found)


async def operation(http: httpx.AsyncClient, operation_id: str) -> dict[str, Any]:
    found: dict[str, Any] = (await http.get(f"/v1/admin/operations/{operation_id}")).json()
    return found


@pytest.mark.slow("two servers of its own, six services, and every file of theirs searched")
async def test_nothing_is_found_of_what_was_erased(
    servers: Servers, owned: tuple[ServerProcess, ServerProcess], tmp_path: Path
) -> None:
    with services(servers.environment, tmp_path) as started:
        await _erase_and_search(servers, owned, started, tmp_path)


async def _erase_and_search(
    servers: Servers, owned: tuple[ServerProcess, ServerProcess], started: Services, folder: Path
) -> None:
    keepers = [started.start("housekeeper") for _ in range(2)]
    for service in ("ingest", "embedder", "indexer-text", "indexer-vector"):
        started.start(service)
    api = started.start("api")
    await started.all_ready()
    for number in range(20):
        await servers.submit(number, f"Neighbour {number} of the depot keeps {number * 7} keys.")
    told = {"tags": [MARK], "metadata": {"kept": MARK}, "source": MARK}
    await servers.submit(99, f"The {MARK} lock of the depot opens at noon.", **told)
    await servers.submit(98, f"Ask {NAME}@example.com about the depot.", metadata={"mail": f"{NAME}@example.com"})
    await until(lambda: all_indexed(servers, 22), 240, 0.2)
    async with servers.http(api.url) as http:
        listed = (await http.get("/v1/brain/list", params={"tags": MARK})).json()
        memory_id = listed["memories"][0]["id"]
        found = [in_files(each.data, MARK) for each in owned]
        assert all(found), found
        assert {"memories", "memory_history"} <= set(await in_tables(servers.store, MARK))
        assert await in_streams(servers.redis, MARK)
        assert all([await in_tables(servers.store, NAME), await in_streams(servers.redis, NAME)])
        await cleaned(http)
        erased = await http.delete(f"/v1/brain/memories/{memory_id}", params={"erase": 1})
        operation_id = erased.json()["operation_id"]

        async def in_the_middle() -> bool:
            return "tombstones" in (await operation(http, operation_id))["result"]

        await until(in_the_middle, pause=0.1)
        (await servers.leader(keepers)).kill()

        async def done() -> bool:
            status = (await operation(http, operation_id))["status"]
            assert status != "failed"
            return bool(status == "done")

        await until(done, 240, 0.5)
        result = (await operation(http, operation_id))["result"]

        async def nowhere() -> bool:
            return await everywhere(servers, owned) == []

        try:
            await until(nowhere, pause=0.5)
        except TimeoutError:
            pytest.fail(f"{await everywhere(servers, owned)} {result}")
        assert in_files(folder, NAME) == []
        assert in_files(folder, MARK) == []  # the logs of the services
        assert result["text"]["product"] == result["vectors"]["product"] == "Elasticsearch"
        assert result["database"]["product"] == "MariaDB"
        assert result["stream_files"] == "append-only file written anew"
        answer = (
            await http.post(
                "/v1/brain/recall", json={"query": "neighbour of the depot", "top_k": 30, "precision": "recall"}
            )
        ).json()
        assert answer["count"] == 21
