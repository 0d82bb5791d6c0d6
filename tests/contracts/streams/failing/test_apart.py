"""An isolated stream: if its handler is slow or its dependency is away, the service's other streams continue."""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any

from openbrain.domain.errors import TryLater
from openbrain.domain.events.data import MemoryReindex
from openbrain.domain.events.envelope import encode
from openbrain.domain.events.streams import REINDEX, STORED
from openbrain.domain.memory import Change
from openbrain.observability import metrics
from openbrain.settings import Streams
from openbrain.streams.group.delivery import Delivery, Results
from openbrain.streams.group.subscription import Subscription
from openbrain.streams.reading.service import Service
from tests.support.streams.consumers import (
    Answer,
    Seen,
    eventually,
    looking,
    memory_id,
    numbers,
    publish,
    scaled,
    started,
    stored,
)
from tests.support.waiting import PATIENCE_S


def reindexed(number: int) -> bytes:
    data = MemoryReindex(memory_id=memory_id(number), workspace_id="w", version=1, revision=1, change=Change.REINDEX)
    return encode(REINDEX.name, data, event_id=str(number), at=0)


def service(settings: Streams, live: Answer, beside: Answer, *, isolated: bool = True) -> Service:
    reads = [
        Subscription(spec=STORED, handler=live),
        Subscription(spec=REINDEX, handler=beside, low_priority=True, isolated=isolated),
    ]
    return Service("embedder", reads, settings)


async def test_a_handler_that_hangs_holds_up_no_other_stream(url: str) -> None:
    over, begun = asyncio.Event(), asyncio.Event()

    async def hang(_: Sequence[Delivery[Any]]) -> Results:
        begun.set()
        await over.wait()
        return None

    settings, live = scaled(url, lease_s=30), Seen()
    async with looking(settings, REINDEX.name) as looks, started(service(settings, live, hang)):
        await publish(settings, reindexed(1), stream=REINDEX.name)
        await asyncio.wait_for(begun.wait(), PATIENCE_S)
        await publish(settings, *(stored(number) for number in range(20)))
        await eventually(lambda: len(live.all) == 20)
        assert await looks.pending() == 1, "it still hangs"
        over.set()
        await eventually(looks.idle)


async def test_what_it_needs_may_be_away_and_the_others_try_on(url: str) -> None:
    there = [False]

    async def needs_it(batch: Sequence[Delivery[Any]]) -> Results:
        if not there[0]:
            raise TryLater("the other model is away")
        done.extend(numbers(batch))
        return None

    done: list[int] = []
    settings, live = scaled(url, breaker_s=0.5, breaker_max_s=0.5), Seen()
    async with looking(settings, REINDEX.name) as looks, started(service(settings, live, needs_it)):
        await publish(settings, *(reindexed(number) for number in range(5)), stream=REINDEX.name)

        async def taken() -> bool:
            return await looks.pending() > 0

        await eventually(taken)
        for number in range(5):
            await publish(settings, stored(number))
            await eventually(partial(_has, live, number + 1))
        there[0] = True
        await eventually(looks.idle)
        assert sorted(done) == list(range(5))
        assert await looks.state() == {}, "no attempt was burned"


def _has(live: Seen, count: int) -> bool:
    return len(live.all) >= count


async def test_the_gauge_shows_a_dependency_that_is_away_while_the_other_streams_go_on(url: str) -> None:
    there = [False]

    async def needs_it(_: Sequence[Delivery[Any]]) -> Results:
        if not there[0]:
            raise TryLater("the other model is away")
        return None

    settings, live = scaled(url, breaker_s=60, breaker_max_s=60), Seen()
    made = service(settings, live, needs_it)
    async with looking(settings, REINDEX.name) as looks, started(made):
        await publish(settings, reindexed(1), stream=REINDEX.name)
        await eventually(lambda: _breaker_open() == 1)
        await publish(settings, stored(1))
        await eventually(partial(_has, live, 1))
        await publish(settings, stored(2))
        await eventually(partial(_has, live, 2))
        assert _breaker_open() == 1
        assert await looks.pending() == 1


def _breaker_open() -> float | None:
    return metrics.REGISTRY.get_sample_value("openbrain_stream_breaker_open", {"group": "embedder"})


async def test_a_room_that_rests_rests_there_too(url: str) -> None:
    rests = [True]

    async def paused() -> bool:
        return rests[0]

    settings, live, beside = scaled(url), Seen(), Seen()
    reads = [
        Subscription(spec=STORED, handler=live),
        Subscription(spec=REINDEX, handler=beside, low_priority=True, isolated=True),
    ]
    await publish(settings, stored(1))
    await publish(settings, reindexed(1), stream=REINDEX.name)
    made = Service("embedder", reads, settings, paused=paused)
    async with started(made):
        await asyncio.sleep(10 * 0.05)  # no event to wait for: it must not happen
        assert (live.all, beside.all) == ([], [])
        rests[0] = False
        await eventually(lambda: (live.all, beside.all) == ([1], [1]))
