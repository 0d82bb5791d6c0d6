"""The pipeline on Redis, MariaDB, Elasticsearch (text and kNN) and Ollama: services as processes, killed at will."""

import httpx
import pytest

from openbrain.domain.access.visibility import Criteria, Viewer, visible
from tests.integration.conftest import Servers
from tests.support.cli.services import Services
from tests.support.waiting import PATIENCE_S, until

pytestmark = pytest.mark.timeout(600)
MEMORIES = 300
VIEWER = Viewer(workspace_id="default", agent_id="")


async def all_indexed(servers: Servers, count: int) -> bool:
    now = 2**52
    rows = await servers.store.memories.listing(visible(VIEWER, Criteria(), now), count + 1)
    return len(rows) == count and all(row.indexed for row in rows)


async def test_replicas_share_the_work_and_a_kill_in_the_middle_loses_nothing(
    servers: Servers, started: Services
) -> None:
    for service in ("housekeeper", "housekeeper", "ingest", "api"):
        started.start(service)
    doomed = [started.start(service) for service in ("embedder", "indexer-text", "indexer-vector")]
    spared = [started.start(service) for service in ("embedder", "indexer-text", "indexer-vector")]
    await started.all_ready()

    for number in range(MEMORIES):
        await servers.submit(
            number, f"Ship {number} carries {number * 3} crates of {'oranges' if number % 2 else 'tea'}."
        )

    async def in_the_middle() -> bool:
        rows = await servers.store.memories.listing(visible(VIEWER, Criteria(), 2**52), MEMORIES)
        return sum(row.indexed for row in rows) > MEMORIES // 10

    await until(in_the_middle, 240, 0.1)
    for process in doomed:
        process.kill()

    await until(lambda: all_indexed(servers, MEMORIES), 240, 0.2)
    api = next(each for each in started.started if each.service == "api")
    async with servers.http(api.url) as http:
        answer = (
            await http.post("/v1/brain/recall", json={"query": "ship 17 crates", "top_k": 5, "precision": "recall"})
        ).json()
    assert answer["degraded"] == []
    assert answer["memories"][0]["content"].startswith("Ship 17 ")
    for process in spared:
        metrics = await handled(process.url)
        assert metrics > 0, f"{process.service} did no work"


async def handled(url: str) -> float:
    """The number of entries that a service reports as handled."""
    async with httpx.AsyncClient() as http:
        text = (await http.get(f"{url}/metrics")).text
    lines = [line for line in text.splitlines() if line.startswith("openbrain_stream_entries_total")]
    return sum(float(line.rpartition(" ")[2]) for line in lines if 'outcome="handled"' in line)


async def test_a_room_stops_cleanly_and_another_goes_on(servers: Servers, started: Services) -> None:
    for service in ("housekeeper", "ingest", "embedder", "indexer-text", "indexer-vector"):
        started.start(service)
    await started.all_ready()
    for number in range(40):
        await servers.submit(number, f"Lamp {number} burns.")
    first = next(each for each in started.started if each.service == "ingest")
    assert first.stop() == 0
    started.start("ingest")

    await until(lambda: all_indexed(servers, 40), 180, 0.1)


async def test_a_leading_housekeeper_that_dies_is_replaced_within_seconds(servers: Servers, started: Services) -> None:
    leader = started.start("housekeeper")
    await leader.ready()

    async def leads() -> bool:
        return "leader.leads" in leader.log.read_text(encoding="utf-8")

    await until(leads)
    other = started.start("housekeeper")
    for service in ("ingest", "indexer-text"):
        started.start(service)
    await started.all_ready()
    leader.kill()
    await servers.submit(1, "Who publishes this?", embed=False)

    await until(lambda: all_indexed(servers, 1), pause=0.1)
    assert "leader.leads" in other.log.read_text(encoding="utf-8")


def test_a_room_started_alone_refuses_embedded_indexes(started: Services, servers: Servers) -> None:
    values = {**servers.environment, "OPENBRAIN_TEXT__URL": "embedded"}
    refused = Services(values, started.folder).start("indexer-text")

    assert refused.popen.wait(timeout=PATIENCE_S) != 0
    said = refused.log.read_text(encoding="utf-8")
    assert "OPENBRAIN_TEXT__URL" in said
    assert "Traceback" not in said
