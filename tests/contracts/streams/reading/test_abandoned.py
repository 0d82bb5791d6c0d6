"""Consumers that vanish: their entries are taken over after the lease, once, not counted as failed, poison alone."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack
from multiprocessing.process import BaseProcess
from typing import Any

import pytest

from openbrain.domain.errors import TryLater
from openbrain.observability import metrics
from openbrain.settings import Streams
from openbrain.streams.group.consumer_group import ConsumerGroup
from openbrain.streams.group.delivery import Delivery, Entry, Results
from openbrain.streams.operating.leases import end_leases
from openbrain.streams.redis.connection import ask, connect
from tests.support.processes.forked import context
from tests.support.streams.consumers import (
    Seen,
    environment,
    eventually,
    looking,
    publish,
    renewed,
    scaled,
    service,
    started,
    stored,
)
from tests.support.streams.service import run

Start = Callable[[Streams], BaseProcess]


@pytest.fixture
def start_process() -> Iterator[Start]:
    """Start the example service in a separate process, which is killed at the end of the test."""
    with ExitStack() as stack:

        def start(settings: Streams) -> BaseProcess:
            process = context().Process(target=run, args=(environment(settings),), daemon=True)
            process.start()
            stack.callback(process.join)
            stack.callback(process.kill)
            return process

        yield start


@pytest.fixture
async def member(url: str) -> AsyncIterator[Callable[..., Awaitable[ConsumerGroup]]]:
    """Make members of the group that the test drives by hand."""
    clients: list[Any] = []

    async def make(settings: Streams, name: str) -> ConsumerGroup:
        clients.append(connect(settings))
        group = ConsumerGroup(clients[-1], settings.prefix + "memory.stored", "embedder", name, settings)
        await group.join()
        return group

    yield make
    for client in clients:
        await client.aclose()


async def read(group: ConsumerGroup, count: int = 100) -> list[str]:
    """Read new entries as this member; return their ids."""
    client: Any = group.client
    found = await client.xreadgroup(group.group, group.consumer, {group.stream: ">"}, count=count)
    return [entry.decode() for _, entries in found for entry, _ in entries]


async def test_what_a_killed_process_held_is_taken_over_after_the_lease(url: str, start_process: Start) -> None:
    settings, seen = scaled(url, lease_s=1), Seen()
    await publish(settings, *(stored(number) for number in range(5)))
    async with looking(settings) as looks:
        await looks.client.set(f"{settings.prefix}hang", 1)
        killed = start_process(settings)

        async def begun() -> bool:
            return bool(await looks.client.llen(f"{settings.prefix}begun") == 5)

        await eventually(begun)
        killed.kill()
        killed.join()
        async with started(service(settings, seen)):
            await eventually(lambda: sorted(seen.all) == [0, 1, 2, 3, 4])
            await eventually(looks.idle)
            assert await looks.state() == {}

    assert {(delivery.failures, delivery.abandonments) for delivery in seen.deliveries} == {(0, 1)}


async def test_leases_of_consumers_known_to_be_gone_end_at_once(
    url: str, member: Callable[..., Awaitable[ConsumerGroup]]
) -> None:
    settings = scaled(url, lease_s=600, backoff_s=(60, 60, 60))
    gone, parking, living = [await member(settings, name) for name in ("gone", "parking", "living")]
    await publish(settings, *(stored(number) for number in range(3)))
    lost, failed = await read(gone, 2), await read(parking)
    await parking.park([(Entry(failed[0], []), ValueError())])
    assert await living.take(9, alone=True) == []

    assert await end_leases(living.client, settings) == 2

    taken = await living.take(9, alone=True)
    assert [(item.entry.id, item.was_abandoned, item.entry.abandonments) for item in taken] == [
        (entry, True, 1) for entry in lost
    ]


async def test_an_entry_that_kills_is_buried_after_its_limit_and_its_neighbours_live(
    url: str, start_process: Start
) -> None:
    settings = scaled(url, abandoned_limit=2, lease_s=0.3, reap_s=0.02)
    events = [stored(number) for number in (1, 2, 666, 3, 4)]
    await publish(settings, *events)
    async with looking(settings) as looks:
        process = start_process(settings)
        deaths = 0
        while not await looks.dead():
            if process.exitcode is not None:
                deaths += 1
                process = start_process(settings)
            await asyncio.sleep(0.02)
        await eventually(looks.idle)
        (letter,) = await looks.dead()
        noted = await looks.client.lrange(f"{settings.prefix}handled", 0, -1)

    assert deaths == 3, "the last abandonment is not forgiven"
    assert (letter["error"], letter["abandonments"], letter["attempts"]) == ("Abandoned", "3", "0")
    assert "abandoned 3 times, 2 are allowed" in letter["message"]
    assert '"id":"666"' in letter["__data__"]
    assert sorted(each.decode().split(":")[1] for each in noted) == ["1", "2", "3", "4"]


async def test_after_the_second_abandonment_an_entry_is_handled_alone(
    url: str, member: Callable[..., Awaitable[ConsumerGroup]]
) -> None:
    settings = scaled(url, lease_s=0.1)
    await publish(settings, *(stored(number) for number in range(4)))
    first = await member(settings, "first")
    ids = await read(first)
    second = await member(settings, "second")
    together = await _until_taken(second, alone=False)
    assert [each.entry.id for each in together] == ids
    await second.ack(ids[3:])
    third = await member(settings, "third")
    for expected in ids[:3]:
        assert await third.take(64, alone=False) == []
        (single,) = await _until_taken(third, alone=True)
        assert (single.entry.id, single.entry.abandonments) == (expected, 2)
        await third.ack([expected])


async def test_the_lone_entry_with_the_fewest_crashes_goes_first(
    url: str, member: Callable[..., Awaitable[ConsumerGroup]]
) -> None:
    settings = scaled(url, lease_s=0.1)
    await publish(settings, stored(1), stored(2))
    holder = await member(settings, "holder")
    poison, neighbour = await read(holder)
    key = f"{holder.stream}.embedder.retries"
    await holder.client.hset(key, mapping={poison: "0 5 0 ", neighbour: "0 1 0 "})
    taker = await member(settings, "taker")
    (single,) = await _until_taken(taker, alone=True)
    assert (single.entry.id, single.entry.abandonments) == (neighbour, 2)


async def test_many_parked_entries_hide_none_that_was_abandoned(
    url: str, member: Callable[..., Awaitable[ConsumerGroup]]
) -> None:
    settings = scaled(url, batch=4, lease_s=0.1, backoff_s=(60,))
    await publish(settings, *(stored(number) for number in range(40)))
    holder = await member(settings, "holder")
    ids = await read(holder)
    await holder.park([(_delivery(each), LookupError()) for each in ids[:39]])
    taker = await member(settings, "taker")
    (taken,) = await _until_taken(taker, alone=False)
    assert taken.entry.id == ids[39]


async def test_leases_are_renewed_while_a_handler_runs(url: str) -> None:
    async def scenario(lease_s: float) -> None:
        async def slow(batch: Sequence[Delivery[Any]]) -> None:
            await asyncio.sleep(2.5 * lease_s)

        settings, one, two = scaled(url, lease_s=lease_s, reap_s=0.02), Seen(slow), Seen()
        await publish(settings, stored(1), stored(2))
        async with looking(settings) as looks, started(service(settings, one)):
            await eventually(lambda: one.all == [1, 2])
            async with started(service(settings, two)):
                await eventually(looks.idle)
                assert await looks.state() == {}

        assert (one.batches, two.all) == ([[1, 2]], [])

    await renewed(scenario)


async def test_waiting_for_a_turn_is_renewed_too(url: str) -> None:
    async def scenario(lease_s: float) -> None:
        settings, lock = scaled(url, lease_s=lease_s, reap_s=0.02, shutdown_s=0.3), asyncio.Lock()
        waiting, other = Seen(), Seen()
        await publish(settings, stored(1))
        async with looking(settings) as looks, lock, started(service(settings, waiting, lock=lock)):
            await eventually(looks.pending)
            async with started(service(settings, other)):
                await asyncio.sleep(2.5 * lease_s)

        assert (waiting.all, other.all) == ([], [])

    await renewed(scenario)


async def test_a_zombie_can_do_nothing_to_what_another_holds(
    url: str, member: Callable[..., Awaitable[ConsumerGroup]]
) -> None:
    settings = scaled(url, lease_s=0.1)
    await publish(settings, stored(1))
    zombie, owner = await member(settings, "zombie"), await member(settings, "owner")
    (entry,) = await read(zombie)
    await _until_taken(owner, alone=False)
    assert await zombie.renew([entry]) == [entry]
    assert await zombie.ack([entry]) == 0
    assert await zombie.park([(_delivery(entry), LookupError())]) == 0
    assert not await zombie.bury(Entry(entry, []), LookupError(), attempted=True)
    assert await zombie.release() == 0
    async with looking(settings) as looks:
        assert await looks.pending() == 1
        assert await looks.dead() == []
    assert await owner.renew([entry]) == []
    assert await owner.ack([entry]) == 1


async def test_what_was_lost_while_waiting_is_not_handled(
    url: str, member: Callable[..., Awaitable[ConsumerGroup]]
) -> None:
    settings, lock, seen = scaled(url, lease_s=3), asyncio.Lock(), Seen()
    await publish(settings, stored(1), stored(2))
    async with looking(settings) as looks, started(service(settings, seen, lock=lock)):
        await eventually(looks.idle)
        async with lock:
            await publish(settings, stored(3))
            await eventually(lambda: _is(looks.pending, 1))
            thief = await member(settings, "thief")
            (held,) = await looks.client.xpending_range(looks.stream, looks.group, "-", "+", 1)
            lost = metrics.STREAM_ENTRIES.labels(looks.stream, looks.group, "lost")

            async def a_renewal_finds_it_gone() -> bool:
                ids = [held["message_id"]]
                await looks.client.xclaim(looks.stream, looks.group, thief.consumer, 0, ids, justid=True)
                return bool(lost._value.get() == 1)

            await eventually(a_renewal_finds_it_gone)
        await thief.ack([held["message_id"].decode()])
        await publish(settings, stored(4))
        await eventually(lambda: seen.all == [1, 2, 4])


async def test_consumers_that_hold_nothing_are_removed_and_others_never(
    url: str, member: Callable[..., Awaitable[ConsumerGroup]]
) -> None:
    settings = scaled(url)
    await publish(settings, stored(1))
    holder, empty, me = [await member(settings, name) for name in ("holder", "empty", "me")]
    await read(holder)
    await ask(empty.client, "XGROUP", "CREATECONSUMER", empty.stream, "embedder", "empty")
    assert await me.tidy(idle_s=60) == 0
    await asyncio.sleep(0.02)
    assert await me.tidy(idle_s=0.01) == 1
    names = [each["name"] for each in await me.client.xinfo_consumers(me.stream, "embedder")]
    assert names == [b"holder"]


async def _is(ask: Callable[[], Awaitable[int]], expected: int) -> bool:
    return await ask() == expected


async def _until_taken(group: ConsumerGroup, *, alone: bool) -> list[Any]:
    taken: list[Any] = []

    async def some() -> bool:
        taken.extend(await group.take(64, alone=alone))
        return bool(taken)

    await eventually(some)
    return taken


def _delivery(entry: str) -> Delivery[Any]:
    return Delivery(entry, "s", None, None, Entry(entry, []))  # type: ignore[arg-type]


async def test_what_was_lost_while_it_was_handled_does_not_affect_its_neighbours(
    url: str, member: Callable[..., Awaitable[ConsumerGroup]]
) -> None:
    """As after a process was suspended: another one has claimed an entry, and the handler goes on."""
    going_on, tried = asyncio.Event(), 0

    async def answer(batch: Sequence[Delivery[Any]]) -> Results:
        nonlocal tried
        tried += 1
        if tried > 1:
            return None
        await going_on.wait()
        return [None, TryLater("the model is away")]

    settings, seen = scaled(url, lease_s=3), Seen(answer)
    await publish(settings, stored(1), stored(2))
    async with looking(settings) as looks, started(service(settings, seen)):
        await eventually(lambda: seen.all == [1, 2])
        thief, lost = await member(settings, "thief"), metrics.STREAM_ENTRIES.labels(looks.stream, looks.group, "lost")
        before, first = lost._value.get(), seen.deliveries[0].id

        async def a_renewal_finds_it_gone() -> bool:
            await looks.client.xclaim(looks.stream, looks.group, thief.consumer, 0, [first], justid=True)
            return bool(lost._value.get() > before)

        await eventually(a_renewal_finds_it_gone)
        going_on.set()
        await eventually(lambda: seen.all == [1, 2, 2])
        await thief.ack([first])
        await eventually(looks.idle)

    assert {delivery.abandonments for delivery in seen.deliveries} == {0}


async def test_the_leases_of_very_many_entries_are_renewed(url: str) -> None:
    """As many as `aside` allows may wait for a dependency; Lua can't pass that many ids to one command."""
    settings = scaled(url)
    client: Any = connect(settings)
    group = ConsumerGroup(client, f"{settings.prefix}memory.stored", "embedder", "me", settings)
    await group.join()
    pipeline = client.pipeline(transaction=False)
    for _ in range(9000):
        pipeline.xadd(group.stream, {"a": "b"})
    await pipeline.execute()
    ((_, entries),) = await client.xreadgroup("embedder", "me", {group.stream: ">"}, count=9000)
    ids = [entry.decode() for entry, _ in entries]
    hour_ms = 3_600_000
    await client.xclaim(group.stream, "embedder", "me", 0, ids, idle=hour_ms, justid=True)

    lost = await group.renew([*ids, "1-1"])

    idle = await client.xpending_range(group.stream, "embedder", "-", "+", 9000, idle=hour_ms)
    await client.delete(group.stream)
    await client.aclose()
    assert (lost, idle) == (["1-1"], [])
