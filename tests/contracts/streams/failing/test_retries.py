"""Failed attempts: parked with growing pauses by the server's clock, four in all, then a dead letter with a reason."""

import asyncio
from collections.abc import Sequence
from typing import Any

from openbrain.domain.errors import Conflict, TryLater
from openbrain.observability import metrics
from openbrain.settings import Streams
from openbrain.streams.group.consumer_group import ConsumerGroup, Taken
from openbrain.streams.group.delivery import Delivery, Entry
from openbrain.streams.redis.connection import connect
from openbrain.streams.redis.keys import PARKED
from tests.support.streams.consumers import (
    Looks,
    Seen,
    eventually,
    looking,
    memory_id,
    publish,
    scaled,
    service,
    started,
    stored,
)


async def fail(_: Sequence[Delivery[Any]]) -> None:
    raise LookupError("the content of a memory, which nobody may read in a log")


async def test_four_attempts_with_growing_pauses_then_a_dead_letter(url: str) -> None:
    settings, seen = scaled(url), Seen(fail)
    await publish(settings, stored(1))
    async with looking(settings) as looks, started(service(settings, seen)):
        await eventually(looks.dead)
        await eventually(looks.idle)
        await asyncio.sleep(0.3)
        (letter,) = await looks.dead()
        assert await looks.state() == {}

    assert seen.batches == [[1]] * 4
    assert [delivery.failures for delivery in seen.deliveries] == [0, 1, 2, 3]
    pauses = [later - earlier for earlier, later in zip(seen.times, seen.times[1:], strict=False)]
    for pause, least in zip(pauses, settings.backoff_s, strict=True):
        assert least - 0.01 <= pause, pauses
    assert letter["__data__"].encode() == stored(1)
    assert (letter["stream"], letter["group"]) == (looks.stream, "embedder")
    assert letter["entry"] == seen.deliveries[0].id
    assert (letter["error"], letter["attempts"], letter["abandonments"]) == ("LookupError", "4", "0")
    assert letter["message"].startswith("an unexpected error in fail, test_retries.py:")
    assert "content" not in letter["message"]
    elapsed_ms = int(letter["last_at"]) - int(letter["first_at"])
    assert sum(settings.backoff_s) * 1000 - 10 <= elapsed_ms


async def test_what_is_due_again_before_its_first_batch_is_done_waits_for_no_lease(url: str) -> None:
    """Entries 1 and 2 are parked and taken again while 3, of the same batch, is handled; 2 waits behind 1 until that
    first batch has ended."""
    settings = scaled(url, lease_s=600, backoff_s=(60, 60, 60))
    handled: list[tuple[str, int, int]] = []
    await publish(settings, stored(1), stored(2), stored(3))
    async with looking(settings) as looks:

        async def both_are_parked() -> bool:
            return len(await looks.parked()) == 2

        async def taken_again() -> bool:
            waiting = await looks.client.xpending_range(looks.stream, looks.group, "-", "+", 10)
            return len([each for each in waiting if each["times_delivered"] > 1]) == 2

        async def three_is_done() -> bool:
            return await looks.pending() < 3

        async def answer(batch: Sequence[Delivery[Any]]) -> None:
            if len(batch) > 1:
                raise LookupError("one of these")
            (delivery,) = batch
            handled.append((delivery.event.id, delivery.failures, delivery.abandonments))
            if delivery.event.id == "3":
                await eventually(both_are_parked)
                await _age(looks, [str(each["message_id"], "ascii") for each in await looks.parked()], 60)
                await eventually(taken_again)
            elif delivery.failures == 0:
                raise LookupError("the first time")
            else:
                await eventually(three_is_done)

        async with started(service(settings, answer)):
            await eventually(looks.idle)

    assert handled == [("1", 0, 0), ("2", 0, 0), ("3", 0, 0), ("1", 1, 0), ("2", 1, 0)], "none was abandoned"


async def test_a_later_success_leaves_nothing_behind(url: str) -> None:
    async def fail_twice(batch: Sequence[Delivery[Any]]) -> None:
        if batch[0].failures < 2:
            raise LookupError

    settings, seen = scaled(url), Seen(fail_twice)
    await publish(settings, stored(1))
    async with looking(settings) as looks, started(service(settings, seen)):
        await eventually(lambda: len(seen.all) == 3)
        await eventually(looks.idle)
        assert await looks.state() == {}
        assert await looks.dead() == []


async def test_what_is_refused_for_good_is_not_tried_again_and_the_truth_is_told(url: str) -> None:
    told: list[tuple[str, str]] = []

    async def refuse(batch: Sequence[Delivery[Any]]) -> None:
        raise Conflict("the chain has moved on")

    async def on_dead(delivery: Delivery[Any], error: Exception) -> None:
        if not told:
            told.append(("the database is down", ""))
            raise TryLater("the database is down")
        told.append((delivery.event.data.memory_id, str(error)))

    settings, seen = scaled(url), Seen(refuse)
    await publish(settings, stored(1), b"not an event")
    async with looking(settings) as looks, started(service(settings, seen, on_dead=on_dead)):
        await eventually(looks.idle)
        letters = await looks.dead()
        gauge = metrics.REGISTRY.get_sample_value("openbrain_stream_breaker_open", {"group": "embedder"})
        assert gauge == 0, "though no entry follows"

    assert seen.batches == [[1]]
    assert told == [("the database is down", ""), (memory_id(1), "the chain has moved on")]
    assert [(letter["error"], letter["attempts"]) for letter in letters] == [("Invalid", "1"), ("Conflict", "1")]


async def test_a_reason_that_cannot_be_kept_does_not_keep_the_entry(url: str) -> None:
    async def on_dead(_: Delivery[Any], __: Exception) -> None:
        raise ZeroDivisionError

    async def refuse(_: Sequence[Delivery[Any]]) -> None:
        raise Conflict("no")

    settings = scaled(url)
    await publish(settings, stored(1))
    async with looking(settings) as looks, started(service(settings, Seen(refuse), on_dead=on_dead)):
        await eventually(looks.dead)
        await eventually(looks.idle)


async def test_many_parked_entries_hide_none_that_is_due(url: str) -> None:
    settings = scaled(url, batch=4, backoff_s=(0.1, 60), failing_share=1)

    async def fail_always_but(batch: Sequence[Delivery[Any]]) -> None:
        if any(int(each.event.id) < 20 or not each.failures for each in batch):
            raise LookupError

    seen = Seen(fail_always_but)
    await publish(settings, *(stored(number) for number in range(20)), *(stored(number) for number in range(20, 24)))
    async with looking(settings) as looks, started(service(settings, seen)):

        async def only_the_hopeless_are_left() -> bool:
            tried = [value.split(" ")[0] for value in (await looks.state()).values()]
            return len(await looks.parked()) == 20 == await looks.pending() and tried == ["2"] * 20

        await eventually(only_the_hopeless_are_left)


async def test_the_defaults_are_10_60_and_300_seconds(url: str) -> None:
    settings = Streams(url=url, prefix=scaled(url).prefix)
    assert (settings.backoff_s, settings.lease_s, settings.tuning.abandoned_limit) == ((10, 60, 300), 60, 10)
    await publish(settings, stored(1))
    client: Any = connect(settings)
    async with looking(settings) as looks:
        group = ConsumerGroup(client, looks.stream, "embedder", "me", settings)
        await group.join()
        await client.xreadgroup("embedder", "me", {looks.stream: ">"})
        (held,) = await client.xpending_range(looks.stream, "embedder", "-", "+", 9)
        entry = held["message_id"].decode()
        for failures, pause_s in enumerate((10, 60, 300)):
            assert await group.park([(_delivery(entry, failures), LookupError())]) == 1
            await _age(looks, [entry], pause_s - 1.5)
            assert await group.take(64, alone=False) == []
            await _age(looks, [entry], 1.5)
            (taken,) = await group.take(64, alone=False)
            assert (taken.entry.id, taken.entry.failures, taken.was_abandoned) == (entry, failures + 1, False)
        assert await group.bury(taken.entry, LookupError(), attempted=True)
        (letter,) = await looks.dead()
        assert letter["attempts"] == "4"
    await client.aclose()


async def test_the_default_lease_is_60_seconds(url: str) -> None:
    settings = Streams(url=url, prefix=scaled(url).prefix)
    await publish(settings, stored(1))
    client: Any = connect(settings)
    async with looking(settings) as looks:
        group = ConsumerGroup(client, looks.stream, "embedder", "me", settings)
        await group.join()
        await client.xreadgroup("embedder", "somebody else", {looks.stream: ">"})
        (held,) = await client.xpending_range(looks.stream, "embedder", "-", "+", 9)
        entry = held["message_id"].decode()
        await _age(looks, [entry], 58.5, holder="somebody else")
        assert await group.take(64, alone=False) == []
        await _age(looks, [entry], 1.5, holder="somebody else")
        taken: list[Taken] = await group.take(64, alone=False)
        assert [(each.entry.id, each.entry.abandonments, each.was_abandoned) for each in taken] == [(entry, 1, True)]
    await client.aclose()


async def _age(looks: Looks, entries: Sequence[str], seconds: float, holder: str = PARKED) -> None:
    """Age these entries by the same time, measured from the server's idle time of the first."""
    (now,) = await looks.client.xpending_range(looks.stream, looks.group, entries[0], entries[0], 1)
    idle = int(now["time_since_delivered"] + seconds * 1000)
    await looks.client.xclaim(looks.stream, looks.group, holder, 0, list(entries), idle=idle, justid=True)


def _delivery(entry: str, failures: int) -> Delivery[Any]:
    return Delivery(entry, "s", None, None, Entry(entry, [], failures))  # type: ignore[arg-type]
