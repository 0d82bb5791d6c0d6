"""Property 3: the stream server is killed, demoted and emptied: everything resumes unattended, without a busy loop."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from openbrain.domain.events.streams import STORED
from openbrain.settings import Housekeeping, Streams
from openbrain.settings.tuning import HousekeepingTuning
from openbrain.streams.redis.connection import ask
from tests.flow.conftest import Brain
from tests.properties.world import READ, SERVERS, all_indexed, at, differences, living, services
from tests.servers.plugin import Starter
from tests.support.waiting import PATIENCE_S, until

RESUMED_S = 15 * PATIENCE_S / 120
"""The limit stated in streams.md, for the default pauses; higher if the machine is known to be slow."""
READERS = sum(len(spec.groups) for spec in READ)


@pytest.mark.parametrize("server", SERVERS)
async def test_killed_and_started_again(private_server: Starter, tmp_path: Path, server: str) -> None:
    process = private_server(server)
    async with living(at(tmp_path, "", streams=Streams(url=process.url))) as brain:
        await brain.indexed(await brain.remember("Before the power cut."))
        usual = await _takes(brain, "Still before it.")
        process.kill()
        during = [await brain.remember(f"Written without a stream server, {number}.") for number in range(10)]
        await asyncio.sleep(4)  # so that the pauses have grown
        process.start()
        await _resumes(brain, usual)
        for memory_id in during:
            await brain.indexed(memory_id)
        await all_indexed(brain, 13)
        assert await differences(brain.container) == []


@pytest.mark.parametrize("server", SERVERS)
async def test_demoted_and_promoted_again(private_server: Starter, tmp_path: Path, server: str) -> None:
    process = private_server(server)
    async with living(at(tmp_path, "", streams=Streams(url=process.url))) as brain:
        await brain.indexed(await brain.remember("Before the failover."))
        usual = await _takes(brain, "Still before it.")
        await ask(brain.redis, "REPLICAOF", "127.0.0.1", "1")
        during = [await brain.remember(f"Written beside a replica, {number}.") for number in range(10)]
        await asyncio.sleep(1)
        before = await _reads(brain)
        await asyncio.sleep(4)
        assert await _reads(brain) - before <= READERS * 8, "each reader retries after growing pauses"
        assert (await brain.http.get("/ready")).status_code == 503
        await ask(brain.redis, "REPLICAOF", "NO", "ONE")
        await _resumes(brain, usual)
        for memory_id in during:
            await brain.indexed(memory_id)
        await all_indexed(brain, 13)
        assert await differences(brain.container) == []


@pytest.mark.parametrize("server", SERVERS)
async def test_groups_of_an_emptied_server_begin_at_its_beginning(
    private_server: Starter, tmp_path: Path, server: str
) -> None:
    """Entries published before anybody has noticed that the groups are gone are delivered."""
    async with living(at(tmp_path, private_server(server).url)) as brain:
        await brain.indexed(await brain.remember("Before the flush."))
        usual = await _takes(brain, "Still before it.")
        await brain.redis.flushall()
        after = [await brain.remember(f"Published into the void, {number}.") for number in range(10)]
        for memory_id in after:
            await brain.indexed(memory_id)
        for spec in (STORED,):
            groups: Any = await brain.redis.xinfo_groups(spec.name)
            assert {each["name"].decode(): each["lag"] for each in groups} == dict.fromkeys(spec.groups, 0)
        await _resumes(brain, usual)
        assert await differences(brain.container) == []


@pytest.mark.parametrize("server", SERVERS)
async def test_what_an_emptied_server_lost_is_announced_again_from_the_truth(
    private_server: Starter, tmp_path: Path, server: str
) -> None:
    """Published, not yet read, and lost with the server's data: changes, ends and new memories."""
    often = Housekeeping(verify_every_s=2, tuning=HousekeepingTuning(reconcile_every_s=0.5, grace_s=1))
    async with living(at(tmp_path, private_server(server).url, housekeeping=often)) as brain:
        old = [await brain.remember(f"Stood before the flood, {number}.") for number in range(9)]
        await all_indexed(brain, 9)
        readers = services(brain, "indexer-text", "indexer-vector", "embedder")
        for service in readers:
            await service.stop()
        for memory_id in old[:3]:
            answer = await brain.http.patch(
                f"/v1/brain/memories/{memory_id}", json={"content": f"Changed: {memory_id}"}
            )
            assert answer.status_code == 200
        for memory_id in old[3:6]:
            assert (await brain.http.delete(f"/v1/brain/memories/{memory_id}")).status_code == 200
        for number in range(20):
            await brain.remember(f"Acknowledged, published and flooded, {number}.")

        async def relayed() -> bool:
            return not await brain.container.store.outbox.take(1)

        await until(relayed)
        await brain.redis.flushall()
        for service in readers:
            await service.start()

        async def repaired() -> bool:
            return await differences(brain.container) == []

        await until(repaired, pause=0.5)
        await brain.settled()
        assert await differences(brain.container) == []


async def _takes(brain: Brain, content: str) -> float:
    """Seconds until a new memory is indexed."""
    began = time.monotonic()
    await brain.indexed(await brain.remember(content))
    return time.monotonic() - began


async def _resumes(brain: Brain, usual: float) -> None:
    """Check that a new memory is indexed in time. `usual`, the time without faults, allows for a slow machine."""
    assert await _takes(brain, "Says that all goes on.") < RESUMED_S + 5 * usual


async def _reads(brain: Brain) -> int:
    stats: Any = await brain.redis.info("commandstats")
    return int(stats["cmdstat_xreadgroup"]["calls"])
