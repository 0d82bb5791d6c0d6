"""What streams and dead letters keep when memory is short; nothing unread or unacknowledged is ever removed."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from redis.asyncio import Redis
from structlog.testing import capture_logs

from openbrain.domain.events.streams import STORED, SUPERSEDED, dead_letters
from openbrain.observability import metrics
from openbrain.settings import Streams
from openbrain.streams.group.consumer_group import ConsumerGroup
from openbrain.streams.operating.acl import users
from openbrain.streams.operating.dead_letter_retention import DeadLetterRetention, survey
from openbrain.streams.operating.eviction import shrink, sizes
from openbrain.streams.redis.keys import PARKED
from openbrain.streams.redis.scripts import TIDY
from openbrain_cli.system.diagnosis.stream_server import check
from openbrain_housekeeper.jobs.stream_retention import StreamRetention
from tests.servers.plugin import Starter
from tests.servers.processes.process import ServerProcess
from tests.support.streams.consumers import scaled, stored
from tests.support.waiting import PATIENCE_S


@pytest.fixture(params=("valkey", "redis"))
def server(request: pytest.FixtureRequest, private_server: Starter) -> ServerProcess:
    return private_server(request.param)


@pytest.fixture
async def client(server: ServerProcess) -> AsyncIterator[Any]:
    async with Redis.from_url(server.url) as made:
        yield made


async def _filled(client: Any, stream: str, count: int, body: bytes = b"x" * 1000) -> list[str]:
    async with client.pipeline(transaction=False) as pipeline:
        for _ in range(count):
            pipeline.xadd(stream, {"__data__": body})
        return [entry.decode() for entry in await pipeline.execute()]


async def test_too_much_that_all_have_read_goes_from_the_head_and_nothing_else(client: Any) -> None:
    first, second = await _filled(client, "a", 4000), await _filled(client, "b", 2000)
    for stream, ids in (("a", first), ("b", second)):
        await client.xgroup_create(stream, "reads", id="0")
        await client.xreadgroup("reads", "c", {stream: ">"}, count=len(ids) if stream == "a" else 500)
        await client.xack(stream, "reads", *(ids if stream == "a" else ids[:300]))
    streams = {"a": ("reads",), "b": ("reads",)}
    before = await sizes(client, streams)

    assert await shrink(client, streams, sum(before.values())) == {}, "a size at the limit removes nothing"
    removed = await shrink(client, streams, sum(before.values()) // 2)

    assert 1800 <= removed["a"] <= 2100, "half of the stream"
    assert (await client.xrange("a", count=1))[0][0].decode() == first[removed["a"]]
    assert removed["b"] <= 300, "the entries after it are not acknowledged"
    assert (await client.xpending("b", "reads"))["pending"] == 200
    group = (await client.xinfo_groups("b"))[0]
    assert group["lag"] == 1500, "the lag stays exact"

    while await shrink(client, streams, 1):
        pass
    left = {entry.decode() for entry, _ in await client.xrange("b")}
    assert set(second[300:]) <= left, "even if there is no room at all"


async def test_the_duty_keeps_the_share_of_the_memory(client: Any, server: ServerProcess) -> None:
    settings = scaled(server.url, memory_mb=16, retention_share=0.25)
    stream = settings.prefix + STORED.name
    await _filled(client, stream, 8000)
    for group in STORED.groups:
        await client.xgroup_create(stream, group, id="0")
        await client.xreadgroup(group, "c", {stream: ">"}, count=10_000)
        await client.xack(stream, group, *(entry for entry, _ in await client.xrange(stream)))
    with capture_logs() as logs:
        keeping = StreamRetention(client, settings)
        while await keeping.round(()) >= 500:
            pass
    assert sum((await sizes(client, [stream])).values()) <= 1.1 * 0.25 * 16 * 2**20
    assert await client.xlen(stream) > 2000, "no more than was too much"
    assert {line["stream"] for line in logs if line["event"] == "streams.history_given_up"} == {stream}


class Ticking:
    now = 0.0

    def __call__(self) -> float:
        return self.now


async def _dead(client: Any, settings: Streams, days: float, count: int) -> str:
    """Add dead letters that are `days` days old."""
    box = dead_letters(settings.prefix + STORED.name, "embedder")
    seconds, _ = await client.time()
    for number in range(count):
        at = round((seconds - days * 86_400) * 1000) + number
        await client.xadd(box, {"__data__": stored(number), "error": "LookupError", "filler": "x" * 5000}, id=f"{at}-0")
    return box


@pytest.mark.parametrize("short_of", ["time", "space"])
async def test_dead_letters_are_told_of_before_the_first_is_dropped(
    client: Any, server: ServerProcess, short_of: str
) -> None:
    time_is_short = short_of == "time"
    settings = scaled(server.url, memory_mb=100, dead_share=0.5 if time_is_short else 0.01, dead_alarm_s=100)
    clock = Ticking()
    keeping = DeadLetterRetention(settings, clock)
    box = await _dead(client, settings, 31 if time_is_short else 1, 300)
    await _dead(client, settings, 0, 10)
    with capture_logs() as logs:
        assert await keeping.round(client) == 0
        clock.now += 99
        assert await keeping.round(client) == 0
        assert await client.xlen(box) == 310
        assert [line["number"] for line in logs if line["event"] == "streams.dead_letters_near_limit"] == [310]
        labels = (settings.prefix + STORED.name, "embedder")
        assert metrics.STREAM_DEAD_LETTERS_FILLED.labels(*labels)._value.get() >= 1
        finding = await check(settings)
        assert any("are dropped" in problem and short_of in problem for problem in finding.problems)

        assert await DeadLetterRetention(settings, clock).round(client) == 0, "a new keeper reports again, and waits"
        clock.now += 1
        removed = await keeping.round(client)
    assert 90 <= removed <= 300
    assert await client.xlen(box) == 310 - removed
    (left,) = await survey(client, settings)
    assert left.share < 1.05
    assert [line["number"] for line in logs if line["event"] == "streams.dead_letters_dropped"] == [removed]


async def test_dead_letters_with_time_and_room_stay_and_are_named(client: Any, server: ServerProcess) -> None:
    settings = scaled(server.url)
    box = await _dead(client, settings, 20, 5)
    keeping = StreamRetention(client, settings)
    with capture_logs() as logs:
        for _ in range(3):
            assert await keeping.round(()) == 0
    assert await client.xlen(box) == 5
    assert [line["event"] for line in logs] == []
    finding = await check(settings)
    assert any("5 dead letters of memory.stored for embedder" in problem for problem in finding.problems)
    assert any("streams.memory_mb" in problem for problem in finding.problems), "without maxmemory this counts"


async def test_the_housekeepers_rights_are_enough(client: Any, server: ServerProcess) -> None:
    free = scaled(server.url)
    rules = next(user.rules for user in users(free.prefix) if user.name == "housekeeper")
    await client.execute_command("ACL", "SETUSER", "housekeeper", "reset", "on", ">secret", *rules.split())
    await _filled(client, free.prefix + STORED.name, 300)
    await _dead(client, free, 40, 3)
    confined = free.model_copy(update={"tuning": free.tuning.model_copy(update={"retention_share": 1e-9})})
    async with Redis.from_url(server.url.replace("://", "://housekeeper:secret@")) as housekeeper:
        await StreamRetention(housekeeper, confined).round(())
    refused = {line["object"] for line in await client.acl_log()}
    assert refused <= {"client|setinfo"}


async def test_no_consumer_with_anything_in_hand_is_ever_removed(client: Any, server: ServerProcess) -> None:
    """While consumers come, read, hand over and leave, every removable consumer that is idle is removed, and no entry
    is lost."""
    settings = scaled(server.url)
    stream = settings.prefix + SUPERSEDED.name
    ids = await _filled(client, stream, 1500, b"{}")
    await client.xgroup_create(stream, "g", id="0")
    done: set[str] = set()
    removed = 0

    async def work(number: int) -> None:
        turn = 0
        while len(done) < len(ids):
            turn += 1
            me = ConsumerGroup(client, stream, "g", f"c{number}-{turn}", settings)
            found = await client.xreadgroup("g", me.consumer, {stream: ">"}, count=7)
            mine = [entry.decode() for _, entries in found for entry, _ in entries]
            await asyncio.sleep(0)
            if turn % 3 == 0:
                await me.release()  # hands its entries to the parked ones, for another consumer
                continue
            if mine:
                await me.ack(mine)
                done.update(mine)
            taken = [each.entry.id for each in await me.take(7, alone=False)]
            if taken:
                await me.ack(taken)
                done.update(taken)

    async def remove() -> None:
        nonlocal removed
        while len(done) < len(ids):
            removed += int(await TIDY(client, (stream, f"{stream}.g.retries"), "g", "nobody", PARKED, 0))
            await asyncio.sleep(0)

    async with asyncio.timeout(PATIENCE_S):
        await asyncio.gather(remove(), *(work(number) for number in range(4)))
    assert done == set(ids)
    assert removed > 50, "there was something to remove"
    assert (await client.xpending(stream, "g"))["pending"] == 0
