"""While Ollama and Elasticsearch go away and come back, writing never stops, and recall reports what it lacks."""

import time
import uuid
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.conftest import Servers, environment, prepared
from tests.servers.plugin import Starter
from tests.servers.processes.process import Server, ServerProcess
from tests.support.cli.services import Services, services
from tests.support.waiting import until


@pytest.fixture
async def breakable(
    tmp_path: Path, redis_server: Server, mariadb_url: str, private_server: Starter
) -> AsyncIterator[tuple[Servers, ServerProcess, ServerProcess]]:
    """Servers with a private Ollama and a private Elasticsearch."""
    name = f"t{uuid.uuid4().hex[:10]}"
    ollama, elasticsearch = private_server("ollama"), private_server("elasticsearch")
    values = environment(
        name,
        redis=redis_server,
        mariadb_url=mariadb_url,
        elasticsearch=elasticsearch.server,
        ollama=ollama.server,
    )
    made = await prepared({**values, "OPENBRAIN_RECALL__TUNING__INDEX_TIMEOUT_S": "2"}, name, tmp_path)
    yield made, ollama, elasticsearch
    await made.store.close()
    await made.redis.aclose()


async def recall(http: httpx.AsyncClient, query: str) -> tuple[list[str], list[str]]:
    """The contents found, and what the answer lacks."""
    answer: dict[str, Any] = (
        (await http.post("/v1/brain/recall", json={"query": query, "precision": "recall"})).raise_for_status().json()
    )
    return [memory["content"] for memory in answer["memories"]], answer["degraded"]


async def remember(http: httpx.AsyncClient, content: str) -> str:
    answer = await http.post("/v1/brain/remember", json={"content": content, "type": "fact"})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def start_all(started: Services) -> None:
    for service in ("housekeeper", "ingest", "embedder", "indexer-text", "indexer-vector", "api"):
        started.start(service)


@pytest.mark.long("seeds of tests/faults/test_short.py kill these servers under the same services at any time")
@pytest.mark.slow("two servers of its own go and come back under six services")
@pytest.mark.timeout(600)
async def test_nothing_stops_writing_and_everything_arrives_unattended(
    breakable: tuple[Servers, ServerProcess, ServerProcess],
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    servers, ollama, elasticsearch = breakable
    with services(servers.environment, tmp_path) as started:
        start_all(started)
        await started.all_ready()
        async with servers.http(started.started[-1].url) as http:
            first = await remember(http, "The heron fishes at the weir.")

            async def is_indexed(memory_id: str) -> bool:
                return bool((await http.get(f"/v1/brain/memories/{memory_id}")).json()["indexed"])

            await until(lambda: is_indexed(first))

            async def answered(query: str, content: str, lacking: list[str]) -> bool:
                """A busy machine may be too slow for more than the part that is away, and reports that too."""
                return await recall(http, query) == ([content], lacking)

            await until(lambda: answered("heron", "The heron fishes at the weir.", []))

            ollama.kill()
            second = await remember(http, "The otter sleeps under the bridge.")
            begun = time.monotonic()

            async def found_by_keyword() -> bool:
                return (await recall(http, "otter bridge"))[0][:1] == ["The otter sleeps under the bridge."]

            await until(found_by_keyword)
            found_after = time.monotonic() - begun

            async def without_vectors() -> bool:
                found, lacking = await recall(http, "otter bridge")
                return found[:1] == ["The otter sleeps under the bridge."] and lacking == ["vectors"]

            await until(without_vectors)
            record_property("found_by_keyword_ms", round(found_after * 1000))

            elasticsearch.kill()
            third = await remember(http, "The badger digs at dusk.")
            found, lacking = await recall(http, "badger")
            assert found == ["The badger digs at dusk."]
            assert sorted(lacking) == ["text", "vectors"]

            elasticsearch.start()
            ollama.start()
            for memory_id in (first, second, third):
                await until(lambda: is_indexed(memory_id), pause=0.1)  # noqa: B023 - asked before the next round

            async def whole_again() -> bool:
                found, lacking = await recall(http, "badger dusk")
                return found[:1] == ["The badger digs at dusk."] and lacking == []

            await until(whole_again)
        dead = await servers.redis.keys(f"{servers.prefix}*.dead")
        assert dead == [], "an outage must not cost attempts"
