"""Publishing, hints between processes, and trimming."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from redis.asyncio import Redis

from openbrain.adapters.local.wake import LocalWake
from openbrain.domain.errors import NeverRetry, TryLater
from openbrain.domain.tasks import cancel
from openbrain.ports.streams import Wake
from openbrain.streams.operating.trim import Trimmed, plan, trim
from openbrain.streams.publishing.publisher import Publisher
from openbrain.streams.publishing.wake import RedisWake
from tests.servers.plugin import Starter
from tests.servers.processes.process import ServerProcess
from tests.support.processes.tcp_proxy import TcpProxy
from tests.support.streams.consumers import scaled, stored
from tests.support.waiting import PATIENCE_S, until


@pytest.fixture(params=("valkey", "redis"))
def server(request: pytest.FixtureRequest, private_server: Starter) -> ServerProcess:
    return private_server(request.param)


@pytest.fixture
async def client(url: str) -> AsyncIterator[Any]:
    async with _client(url) as client:
        yield client


def _client(url: str) -> Any:
    return Redis.from_url(url)


async def test_events_are_appended_in_order_as_they_are(url: str, client: Any) -> None:
    settings = scaled(url)
    publisher = Publisher(settings)
    events = [stored(number) for number in range(500)]
    assert await publisher.publish([("memory.stored", event) for event in events]) == [None] * 500
    assert await publisher.publish([]) == []
    entries = await client.xrange(settings.prefix + "memory.stored")
    assert [fields for _, fields in entries] == [{b"__data__": event} for event in events]
    await publisher.close()


async def test_one_that_cannot_be_taken_does_not_hold_the_others(url: str, client: Any) -> None:
    settings = scaled(url)
    await client.set(settings.prefix + "memory.embedded", "not a stream")
    publisher = Publisher(settings)
    results = await publisher.publish([(name, b"{}") for name in ("memory.stored", "memory.embedded", "memory.stored")])
    await publisher.close()

    assert [type(result) for result in results] == [type(None), NeverRetry, type(None)]
    assert await client.xlen(settings.prefix + "memory.stored") == 2


async def test_a_server_that_is_down_or_refuses_is_tried_later(server: ServerProcess) -> None:
    settings = scaled(server.url)
    publisher = Publisher(settings)
    entries = [("memory.stored", stored(number)) for number in range(3)]
    async with _client(server.url) as client:
        await client.execute_command("REPLICAOF", "127.0.0.1", "1")
        with pytest.raises(TryLater, match="refuses writes now"):
            await publisher.publish(entries)
        await client.execute_command("REPLICAOF", "NO", "ONE")
        await client.config_set("maxmemory", 1)
        with pytest.raises(TryLater, match="refuses writes now"):
            await publisher.publish(entries)
        await client.config_set("maxmemory", 0)
        server.pause()
        with pytest.raises(TryLater, match="does not answer"):
            await publisher.publish(entries)
        server.resume()
    server.stop()
    with pytest.raises(TryLater, match="does not answer"):
        await publisher.publish(entries)
    server.start()
    assert await publisher.publish(entries) == [None] * 3
    await publisher.close()


@pytest.fixture(params=("local", "redis", "valkey"))
async def wakes(request: pytest.FixtureRequest) -> AsyncIterator[tuple[Wake, Wake]]:
    """A notifying side and a waiting side."""
    if request.param == "local":
        wake = LocalWake()
        yield wake, wake
        return
    settings = scaled(request.getfixturevalue(f"{request.param}_server").url)
    notifying, waiting = RedisWake(settings), RedisWake(settings)
    yield notifying, waiting
    await notifying.close()
    await waiting.close()


async def test_a_wait_ends_at_the_hint_or_after_its_time(wakes: tuple[Wake, Wake]) -> None:
    notifying, waiting = wakes
    await waiting.wait(0.01)  # the first call subscribes
    began = time.monotonic()
    assert not await waiting.wait(0.1)
    assert time.monotonic() - began >= 0.09
    task = asyncio.create_task(waiting.wait(PATIENCE_S))
    await asyncio.sleep(0.05)

    async def heard() -> bool:
        await notifying.notify()  # which gives up if the server is slow
        return task.done()

    await until(heard, pause=0.1)
    assert await task


async def test_a_hint_between_two_waits_is_not_lost_and_many_are_one(wakes: tuple[Wake, Wake]) -> None:
    notifying, waiting = wakes
    await waiting.wait(0.01)
    for _ in range(5):
        await notifying.notify()
    await asyncio.sleep(0.05)
    assert await waiting.wait(PATIENCE_S)
    assert not await waiting.wait(0.1)


async def test_a_wait_cancelled_while_it_connects_does_not_make_the_next_ones_deaf(server: ServerProcess) -> None:
    """As when a relay loses its lease and gets it again."""
    async with TcpProxy(server.port).open() as proxy:
        wake = RedisWake(scaled(f"redis://127.0.0.1:{proxy.port}/0"))
        proxy.silent = True
        task = asyncio.create_task(wake.wait(PATIENCE_S))
        await asyncio.sleep(0.1)
        await cancel(task)
        proxy.silent = False

        async def heard() -> bool:
            await wake.notify()
            return await wake.wait(1)

        await until(heard)
        await wake.close()


async def test_without_redis_a_hint_is_nothing_and_a_wait_is_short(server: ServerProcess) -> None:
    settings = scaled(server.url)
    wake = RedisWake(settings)
    assert not await wake.wait(0.05)
    server.stop()
    await wake.notify()
    for _ in range(2):
        began = time.monotonic()
        assert not await wake.wait(PATIENCE_S)
        assert 0.04 <= time.monotonic() - began < PATIENCE_S
    server.start()
    assert not await wake.wait(PATIENCE_S), "the first wait returns at once: earlier hints may have been missed"

    async def heard() -> bool:
        await wake.notify()
        return await wake.wait(1)

    await until(heard)
    await wake.close()


DAY_MS = 86_400_000


async def _old_stream(client: Any, stream: str, number: int = 300) -> list[str]:
    """Entries from ten days ago, one per second, and one from now; return their ids. Small nodes: trimming is exact."""
    await client.config_set("stream-node-max-entries", 1)
    seconds, _ = await client.time()
    first = seconds * 1000 - 10 * DAY_MS
    ids = [f"{first + index * 1000}-0" for index in range(number)]
    for entry in ids:
        await client.xadd(stream, {"__data__": "{}"}, id=entry)
    ids.append((await client.xadd(stream, {"__data__": "{}"})).decode())
    return ids


async def test_only_what_all_registered_groups_have_done_and_is_old_goes(server: ServerProcess) -> None:
    async with _client(server.url) as client:
        ids = await _old_stream(client, "s")
        await client.xgroup_create("s", "fast", id="0")
        await client.xgroup_create("s", "slow", id="0")
        await client.xgroup_create("s", "stranger", id="0")
        await client.xreadgroup("fast", "c", {"s": ">"}, count=1000)
        await client.xack("s", "fast", *ids)
        await client.xreadgroup("slow", "c", {"s": ">"}, count=200)
        await client.xack("s", "slow", *ids[:100], *ids[101:200])

        (report,) = await trim(client, {"s": ("fast", "slow")}, 7 * 86_400)
        assert report == Trimmed(stream="s", removed=100, held_back_by="slow", unregistered=("stranger",))
        assert (await client.xrange("s", count=1))[0][0].decode() == ids[100], "pending, though later ones are done"

        await client.xack("s", "slow", ids[100])
        (report,) = await trim(client, {"s": ("fast", "slow")}, 7 * 86_400)
        assert (report.removed, report.held_back_by) == (99, "slow")
        assert (await client.xrange("s", count=1))[0][0].decode() == ids[199], "the last delivered entry is kept"

        await client.xreadgroup("slow", "c", {"s": ">"}, count=1000)
        await client.xack("s", "slow", *ids)
        (report,) = await trim(client, {"s": ("fast", "slow")}, 7 * 86_400)
        assert (await client.xlen("s"), report.held_back_by) == (1, ""), "recent entries are kept"
        lags = {group["name"]: group["lag"] for group in await client.xinfo_groups("s")}
        assert (lags[b"fast"], lags[b"slow"]) == (0, 0)


async def test_a_registered_group_that_never_came_holds_everything(server: ServerProcess) -> None:
    async with _client(server.url) as client:
        await _old_stream(client, "s", 10)
        (report,) = await trim(client, {"s": ("late",)}, 7 * 86_400)
        assert (report.removed, report.held_back_by, await client.xlen("s")) == (0, "late", 11)


async def test_without_groups_age_alone_decides(server: ServerProcess) -> None:
    async with _client(server.url) as client:
        await _old_stream(client, "s", 10)
        (report,) = await trim(client, {"s": (), "missing": ()}, 7 * 86_400)
        assert (report.removed, await client.xlen("s")) == (10, 1)


def test_the_plan_names_every_stream_with_its_readers() -> None:
    streams = plan(scaled("redis://localhost", prefix="p.", bound_workspaces=("acme",)))
    assert streams["p.memory.stored"] == ("embedder", "indexer-text")
    assert streams["p.memory.submitted.acme"] == ("ingest",)
    assert "p.memory.submitted.acme.ingest.dead" not in streams, "dead letters have their own retention"
    assert streams["p.memory.recalled"] == ()
