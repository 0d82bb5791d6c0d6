"""Stopping: running handlers end and are acknowledged, unstarted entries are free at once, no attempt is counted."""

import asyncio
from collections.abc import Sequence
from typing import Any, cast

from redis.exceptions import TimeoutError as NoAnswer

from openbrain.domain.errors import TryLater
from openbrain.domain.events.streams import SIGNAL_RAISED
from openbrain.settings import Streams
from openbrain.streams.group.delivery import Delivery
from openbrain.streams.group.subscription import Subscription
from openbrain.streams.reading.session import Session
from tests.support.streams.consumers import Seen, eventually, looking, publish, scaled, service, started, stored
from tests.support.waiting import PATIENCE_S

NEVER_S = 10 * PATIENCE_S
"""Something that ends only after this time has not ended at once."""


async def test_the_running_handler_ends_and_its_batch_is_acknowledged(url: str) -> None:
    ended = asyncio.Event()

    async def slow(_: Sequence[Delivery[Any]]) -> None:
        await asyncio.sleep(0.4)
        ended.set()

    settings, seen = scaled(url), Seen(slow)
    await publish(settings, stored(1), stored(2))
    stopping = service(settings, seen)
    async with looking(settings) as looks:
        async with started(stopping):
            await eventually(lambda: seen.batches)
        assert ended.is_set()
        assert await looks.idle()
        assert await looks.client.xinfo_consumers(looks.stream, looks.group) == []


async def test_what_was_not_begun_is_taken_by_another_at_once(url: str) -> None:
    settings, lock, seen, other = scaled(url, lease_s=60, shutdown_s=1), asyncio.Lock(), Seen(), Seen()
    await publish(settings, stored(1), stored(2))
    async with looking(settings) as looks:
        stopping = service(settings, seen, lock=lock)
        await stopping.start()
        await lock.acquire()
        await publish(settings, stored(3))
        await eventually(lambda: _at_least(looks, 1))
        closing = asyncio.create_task(stopping.stop())
        await asyncio.sleep(0.05)
        lock.release()
        await closing
        handled = set(seen.all)
        async with started(service(settings, other)):
            await eventually(looks.idle)
            assert await looks.state() == {}

    assert handled | set(other.all) == {1, 2, 3}
    assert {(delivery.failures, delivery.abandonments) for delivery in other.deliveries} <= {(0, 0)}


async def test_a_batch_that_waits_for_a_dependency_is_given_back(url: str) -> None:
    async def down(_: Sequence[Delivery[Any]]) -> None:
        raise TryLater("down")

    settings = scaled(url, lease_s=NEVER_S, breaker_s=NEVER_S, breaker_max_s=NEVER_S, backoff_s=(NEVER_S,))
    seen, other = Seen(down), Seen()
    await publish(settings, stored(1), stored(2))
    async with looking(settings) as looks:
        loop = asyncio.get_running_loop()
        async with started(service(settings, seen)):
            await eventually(lambda: seen.batches)
            began = loop.time()
        assert loop.time() - began < PATIENCE_S, "it does not wait for the pause to end"
        assert len(await looks.parked()) == 2
        async with started(service(settings, other)):
            await eventually(looks.idle)
            assert await looks.state() == {}

    assert other.all == [1, 2]


async def test_an_attempt_that_failed_before_keeps_its_count_when_it_is_given_back(url: str) -> None:
    async def fail_then_wait(batch: Sequence[Delivery[Any]]) -> None:
        if not batch[0].failures:
            raise LookupError
        raise TryLater("down")

    settings = scaled(url, lease_s=NEVER_S, breaker_s=NEVER_S, breaker_max_s=NEVER_S, backoff_s=(0.05, NEVER_S))
    seen, other = Seen(fail_then_wait), Seen()
    await publish(settings, stored(1))
    async with looking(settings) as looks:
        async with started(service(settings, seen)):
            await eventually(lambda: len(seen.batches) == 2)
        async with started(service(settings, other)):
            await eventually(looks.idle)

    assert [delivery.failures for delivery in other.deliveries] == [1]


async def test_a_handler_that_does_not_end_is_cancelled_and_its_batch_given_back(url: str) -> None:
    cancelled = asyncio.Event()

    async def endless(_: Sequence[Delivery[Any]]) -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            cancelled.set()

    settings, seen, other = scaled(url, lease_s=NEVER_S, shutdown_s=0.3), Seen(endless), Seen()
    await publish(settings, stored(1))
    async with looking(settings) as looks:
        async with started(service(settings, seen)):
            await eventually(lambda: seen.batches)
        assert cancelled.is_set()
        async with started(service(settings, other)):
            await eventually(looks.idle)

    assert other.all == [1]


async def test_stopping_under_load_loses_and_counts_nothing(url: str) -> None:
    settings, seen = scaled(url, batch=3, lease_s=60), Seen()

    async def slow(_: Sequence[Delivery[Any]]) -> None:
        await asyncio.sleep(0.01)

    seen.answer = slow
    await publish(settings, *(stored(number) for number in range(60)))
    async with looking(settings) as looks:
        for _ in range(5):
            async with started(service(settings, seen)):
                await asyncio.sleep(0.06)
        async with started(service(settings, seen)):
            await eventually(looks.idle)
        assert await looks.state() == {}
        assert await looks.dead() == []

    assert sorted(seen.all) == list(range(60)), "each exactly once: a clean stop repeats nothing either"


async def test_what_arrives_while_rooms_come_and_go_waits_for_no_lease(url: str) -> None:
    settings, seen = scaled(url, batch=5, lease_s=60), Seen()
    async with looking(settings) as looks:

        async def produce() -> None:
            for number in range(300):
                await publish(settings, stored(number))

        producing = asyncio.create_task(produce())
        while not producing.done():
            async with started(service(settings, seen)):
                await asyncio.sleep(0.03)
        await producing
        async with started(service(settings, seen)):
            await eventually(looks.idle)
        assert await looks.state() == {}

    assert sorted(seen.all) == list(range(300))


async def _at_least(looks: Any, number: int) -> bool:
    return bool(await looks.pending() >= number)


async def test_a_silent_server_holds_up_the_end_once_and_not_for_each_stream() -> None:
    asked = list[str]()
    all_asked = asyncio.Event()

    async def nothing(_: Sequence[Delivery[Any]]) -> None: ...

    streams = [Subscription(spec=SIGNAL_RAISED, handler=nothing, workspace=name) for name in ("w1", "w2", None)]
    session = Session("amygdala", streams, Streams(url="redis://localhost:1"), asyncio.Lock(), 1)

    class Silent:
        stream = "s"

        async def release(self) -> int:
            asked.append(self.stream)
            if len(asked) == len(session.consumers):
                all_asked.set()
            await all_asked.wait()
            raise NoAnswer

    for consumer in session.consumers.values():
        consumer.group = cast("Any", Silent())
    async with asyncio.timeout(PATIENCE_S):
        await session.finish()
    assert len(asked) == 6
