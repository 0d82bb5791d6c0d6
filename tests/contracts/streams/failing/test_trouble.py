"""Redis in trouble: no busy loop, no dead task, nothing lost, and recovery without intervention."""

import asyncio
import time
from collections.abc import AsyncIterator, MutableMapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from openbrain.domain.errors import NeverRetry
from openbrain.domain.events.streams import REINDEX, STORED
from openbrain.ports.streams import Burial
from openbrain.settings import Streams
from openbrain.streams.group.delivery import Delivery, Results
from openbrain.streams.group.subscription import Subscription
from openbrain.streams.operating.redelivery import Redelivery
from openbrain.streams.reading import reader
from openbrain.streams.reading.service import Service
from openbrain.streams.redis.connection import silence_s
from tests.servers.plugin import Starter
from tests.servers.processes.process import ServerProcess
from tests.support.processes.tcp_proxy import TcpProxy
from tests.support.streams.consumers import (
    Looks,
    Seen,
    eventually,
    looking,
    numbers,
    publish,
    scaled,
    service,
    started,
    stored,
)


@pytest.fixture(params=("valkey", "redis"))
def server(request: pytest.FixtureRequest, private_server: Starter) -> ServerProcess:
    return private_server(request.param)


async def _demote(client: Any) -> None:
    await client.execute_command("REPLICAOF", "127.0.0.1", "1")


async def _promote(client: Any) -> None:
    await client.execute_command("REPLICAOF", "NO", "ONE")


async def _want_replicas(client: Any) -> None:
    await client.config_set("min-replicas-to-write", 1)


async def _want_none(client: Any) -> None:
    await client.config_set("min-replicas-to-write", 0)


TROUBLES = {"READONLY": (_demote, _promote), "NOREPLICAS": (_want_replicas, _want_none)}


@asynccontextmanager
async def _reading(settings: Streams, seen: Seen) -> AsyncIterator[tuple[Looks, Service]]:
    reading = service(settings, seen)
    async with looking(settings) as looks, started(reading):
        await publish(settings, stored(1))
        await eventually(looks.idle)
        yield looks, reading


async def _over(logs: Sequence[MutableMapping[str, Any]]) -> bool:
    """True once all loops have recovered; they retry one after another."""
    return any(line["event"] == "streams.redis_answers" for line in logs)


@pytest.mark.parametrize("name", TROUBLES)
async def test_a_server_that_refuses_writes_is_asked_seldom_and_read_on_after(server: ServerProcess, name: str) -> None:
    begin, end = TROUBLES[name]
    settings, seen = scaled(server.url, reconnect_max_s=0.5), Seen()
    with capture_logs() as logs:
        async with _reading(settings, seen) as (looks, reading):
            await begin(looks.client)
            await eventually(lambda: _not_ready(reading))
            before = await looks.calls("xreadgroup")
            await asyncio.sleep(1)
            assert await looks.calls("xreadgroup") - before <= 8
            assert reading.stuck() == []
            await end(looks.client)
            await publish(settings, stored(2))
            await eventually(lambda: seen.all == [1, 2])
            await eventually(looks.idle)
            assert await reading.unready() == {}
            await eventually(lambda: _over(logs))
    # Unblocked, and its connection closed (late, if the server is busy); then refused.
    told = [line["error"] for line in logs if line["event"] == "streams.redis_trouble"]
    assert told, logs
    assert len(told) == len({*told}), f"told when it changes, not once a loop or a try: {logs}"


@pytest.mark.parametrize("error", [RuntimeError("fails"), NeverRetry("is refused")], ids=["parked", "dead"])
async def test_without_memory_a_failing_entry_holds_up_no_other(server: ServerProcess, error: Exception) -> None:
    """Entries behind a failing one must be read: they can't be trimmed before, and so keep the memory full."""
    settings, seen, full = scaled(server.url, batch=1, backoff_s=(60,)), Seen(), asyncio.Event()

    async def answer(batch: Sequence[Delivery[Any]]) -> Results:
        await full.wait()
        return [error if number == 1 else None for number in numbers(batch)]

    seen.answer = answer
    await publish(settings, *(stored(number) for number in range(1, 6)))
    async with looking(settings) as looks, started(service(settings, seen)):
        await eventually(lambda: seen.all == [1])
        await looks.client.config_set("maxmemory", 1)
        full.set()
        await eventually(lambda: seen.all == [1, 2, 3, 4, 5])
        failed = seen.deliveries[0].id
        if not isinstance(error, NeverRetry):
            await eventually(lambda: _only_parked(looks))
            buried = await Redelivery(looks.client, settings).bury(STORED.name, "embedder", failed, "given up")
            assert buried is Burial.BURIED
        await eventually(looks.idle)
        assert [letter["entry"] for letter in await looks.dead()] == [failed]


async def test_a_disk_that_refuses_makes_the_room_unready_until_it_recovers(server: ServerProcess) -> None:
    settings, seen = scaled(server.url), Seen()
    async with _reading(settings, seen) as (looks, reading):
        snapshot = Path(server.data) / "dump.rdb"
        snapshot.mkdir()  # no snapshot can be written there
        await looks.client.config_set("save", "3600 1")
        await looks.client.bgsave()
        await eventually(lambda: _not_ready(reading))
        assert reading.stuck() == []
        before = await looks.calls("xreadgroup")
        await asyncio.sleep(1)
        assert await looks.calls("xreadgroup") - before <= 10
        await looks.client.config_set("save", "")
        await eventually(lambda: _ready(reading))
        await publish(settings, stored(2))
        await eventually(lambda: seen.all == [1, 2])


async def test_a_restarted_server_is_read_on(server: ServerProcess) -> None:
    settings, seen = scaled(server.url), Seen()
    async with _reading(settings, seen) as (looks, reading):
        await looks.client.execute_command("BGREWRITEAOF")
        server.stop()
        await eventually(lambda: _not_ready(reading))
        assert reading.stuck() == []
        server.start()
        await publish(settings, stored(2))
        await eventually(lambda: seen.all == [1, 2])


async def test_a_killed_server_repeats_at_most(server: ServerProcess) -> None:
    settings, seen = scaled(server.url), Seen()
    async with _reading(settings, seen) as (looks, _):
        server.kill()
        await asyncio.sleep(0.5)
        server.start()
        for number in range(2, 30):
            await publish(settings, stored(number))
        await eventually(lambda: set(seen.all) >= set(range(2, 30)))
        await eventually(looks.idle)


async def test_an_effect_that_is_done_is_acknowledged_when_redis_is_back(server: ServerProcess) -> None:
    settings, seen = scaled(server.url, lease_s=60), Seen()
    once = asyncio.Event()

    async def effect(_: object) -> None:
        if not once.is_set():
            server.pause()
            once.set()

    seen.answer = effect
    await publish(settings, stored(1))
    async with looking(settings) as looks, started(service(settings, seen)):
        await once.wait()
        await asyncio.sleep(0.5)
        server.resume()
        await eventually(looks.idle)

    assert seen.all == [1], "acknowledged late, not done twice"


async def test_a_silent_network_loses_nothing(server: ServerProcess) -> None:
    """Redis hands an entry to a read whose answer never arrives: it must be delivered again, though its consumer is
    alive."""
    async with TcpProxy(server.port).open() as proxy:
        settings, seen = scaled(server.url, lease_s=0.5), Seen()
        through = settings.model_copy(update={"url": f"redis://127.0.0.1:{proxy.port}/0"})
        async with looking(settings) as looks, started(service(through, seen)):
            await publish(settings, stored(1))
            await eventually(looks.idle)
            proxy.silent = True
            await publish(settings, stored(2))
            await eventually(lambda: _pending(looks), why="delivered into the silence")
            await asyncio.sleep(silence_s(settings) + 0.2)
            proxy.silent = False
            await publish(settings, stored(3))
            await eventually(lambda: set(seen.all) == {1, 2, 3})
            await eventually(looks.idle)

    taken = [delivery for delivery in seen.deliveries if delivery.event.id == "2"]
    assert {delivery.failures for delivery in taken} == {0}


async def test_reset_connections_cost_little(server: ServerProcess) -> None:
    async with TcpProxy(server.port).open() as proxy:
        settings, seen = scaled(server.url), Seen()
        through = settings.model_copy(update={"url": f"redis://127.0.0.1:{proxy.port}/0"})
        async with looking(settings) as looks, started(service(through, seen)):
            for number in range(5):
                proxy.cut()
                await publish(settings, stored(number))
                await eventually(lambda: number in seen.all)  # noqa: B023 - awaited within the turn
            await eventually(looks.idle)


async def test_no_key_of_the_right_kind_is_said_and_mended(server: ServerProcess) -> None:
    settings, seen = scaled(server.url), Seen()
    async with looking(settings) as looks:
        await looks.client.set(looks.stream, "not a stream")
        reading = service(settings, seen)
        async with started(reading):
            await eventually(lambda: _not_ready(reading))
            assert reading.stuck() == []
            await looks.client.delete(looks.stream)
            await publish(settings, stored(1))
            await eventually(lambda: seen.all == [1])


async def test_a_stream_that_waits_for_its_turn_reports_no_trouble_of_before(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an outage the live stream has much to do for hours, and the other one is not read."""
    monkeypatch.setattr(reader, "_STALE_S", 0.3)
    settings, going = scaled(url, batch=1), asyncio.Event()

    async def waiting(batch: Sequence[Delivery[Any]]) -> None:
        await going.wait()

    low = Subscription(spec=REINDEX, handler=Seen(), low_priority=True)
    reading = Service("embedder", [Subscription(spec=STORED, handler=waiting), low], settings)
    async with looking(settings) as looks:
        wrong = settings.prefix + REINDEX.name
        await looks.client.set(wrong, "no stream")
        async with started(reading):
            await eventually(lambda: _not_ready(reading))
            assert "Redis refuses the request: WRONGTYPE" in (await reading.unready())["redis"]
            await publish(settings, stored(1), stored(2))
            await eventually(looks.pending)
            await looks.client.delete(wrong)
            await eventually(lambda: _ready(reading))
            assert await looks.pending() == 1, "it is still busy"
            going.set()
            await eventually(looks.idle)


async def test_an_idle_room_asks_little(server: ServerProcess) -> None:
    settings = Streams(url=server.url, prefix="idle.")
    async with looking(settings) as looks, started(service(settings, Seen())):
        await asyncio.sleep(0.3)
        began, before = time.monotonic(), int((await looks.client.info("stats"))["total_commands_processed"])
        await asyncio.sleep(1.5)
        after, took_s = int((await looks.client.info("stats"))["total_commands_processed"]), time.monotonic() - began

    # A blocking read every 2 s, and a check for due and abandoned entries every second (five commands in one script).
    assert (after - before) / took_s < 40 / 3


async def _not_ready(reading: Service) -> bool:
    return "redis" in await reading.unready()


async def _ready(reading: Service) -> bool:
    return await reading.unready() == {}


async def _pending(looks: Looks) -> bool:
    return await looks.pending() > 0


async def _only_parked(looks: Looks) -> bool:
    counts = [state.partition(" ")[0] for state in (await looks.state()).values()]
    return (await looks.pending(), len(await looks.parked()), counts) == (1, 1, ["1"])
