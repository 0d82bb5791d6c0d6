"""A dependency that is down: the service pauses, no attempt is counted, and the same batch is completed later."""

import asyncio
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import pytest

from openbrain.domain.errors import SetupError, TryLater
from openbrain.domain.events.streams import REINDEX, STORED, SUPERSEDED
from openbrain.streams.group.delivery import Delivery, Results
from openbrain.streams.group.subscription import Subscription
from openbrain.streams.reading.service import Service
from tests.support.processes.tcp_proxy import TcpProxy
from tests.support.streams.consumers import (
    Seen,
    eventually,
    looking,
    numbers,
    publish,
    renewed,
    scaled,
    service,
    started,
    stored,
)


class Dependency:
    """A dependency that is down until `up` is set."""

    def __init__(self) -> None:
        self.up = False

    async def ask(self, _: Sequence[Delivery[Any]]) -> None:
        if not self.up:
            raise TryLater("the database is down")


@pytest.mark.parametrize("whole", [True, False], ids=["the batch", "each"])
async def test_what_only_a_person_can_mend_costs_no_attempt(url: str, *, whole: bool) -> None:
    """As a database that is not migrated yet, or that refuses the password: no entry is to blame."""
    mended = False

    async def answer(batch: Sequence[Delivery[Any]]) -> Results:
        refused = SetupError("the database is not prepared")
        if whole and not mended:
            raise refused
        return None if mended else [refused] * len(batch)

    settings, seen = scaled(url, backoff_s=()), Seen(answer)
    await publish(settings, stored(1), stored(2))
    async with looking(settings) as looks, started(service(settings, seen)):
        await eventually(lambda: len(seen.batches) >= 6)
        assert await looks.dead() == []
        mended = True
        await eventually(looks.idle)
        assert (await looks.dead(), await looks.state()) == ([], {})


async def test_the_same_batch_is_tried_with_growing_pauses_and_completed(url: str) -> None:
    dependency = Dependency()
    settings, seen = scaled(url, breaker_s=0.05, breaker_max_s=0.4, lease_s=0.3), Seen(dependency.ask)
    await publish(settings, stored(1), stored(2))
    async with looking(settings) as looks, started(service(settings, seen)):
        await eventually(lambda: len(seen.batches) >= 6)
        await publish(settings, stored(3))
        tried = len(seen.batches)
        assert await looks.pending() == 2, "nothing more is read meanwhile"
        dependency.up = True
        await eventually(looks.idle)
        assert await looks.state() == {}
        assert await looks.dead() == []

    assert seen.batches[:tried] == [[1, 2]] * tried
    assert seen.batches[-1] == [3]
    pauses = [later - earlier for earlier, later in zip(seen.times, seen.times[1:], strict=False)][:5]
    assert pauses[0] >= 0.024
    assert max(pauses[3:]) >= 0.19, pauses
    assert {delivery.failures for delivery in seen.deliveries} == {0}


async def test_while_it_is_down_it_is_asked_seldom(url: str) -> None:
    dependency = Dependency()
    settings, seen = scaled(url, breaker_s=0.2, breaker_max_s=0.2), Seen(dependency.ask)
    await publish(settings, stored(1))
    async with started(service(settings, seen)):
        await eventually(lambda: seen.batches)
        await asyncio.sleep(1)

    assert len(seen.batches) <= 11


async def test_a_long_pause_outlives_no_lease(url: str) -> None:
    async def scenario(lease_s: float) -> None:
        dependency = Dependency()
        pause_s = 4 * lease_s
        settings = scaled(url, breaker_s=pause_s, breaker_max_s=pause_s, lease_s=lease_s, reap_s=0.02)
        paused, other = Seen(dependency.ask), Seen()
        await publish(settings, stored(1))
        async with looking(settings) as looks, started(service(settings, paused)):
            await eventually(lambda: paused.batches)
            dependency.up = True
            async with started(service(settings, other)):
                await eventually(looks.idle)
                assert await looks.state() == {}

        assert other.all == []

    await renewed(scenario)


async def test_only_the_items_that_wait_are_kept(url: str) -> None:
    up = asyncio.Event()

    async def some_cached(batch: Sequence[Delivery[Any]]) -> Results:
        return [None if number < 2 or up.is_set() else TryLater("no model") for number in numbers(batch)]

    settings, seen = scaled(url), Seen(some_cached)
    await publish(settings, *(stored(number) for number in range(4)))
    async with looking(settings) as looks, started(service(settings, seen)):
        await eventually(lambda: len(seen.batches) >= 3)
        assert await looks.pending() == 2
        up.set()
        await eventually(looks.idle)

    assert seen.batches[:3] == [[0, 1, 2, 3], [2, 3], [2, 3]]


async def test_one_stream_that_meets_it_pauses_the_whole_room(url: str) -> None:
    dependency = Dependency()
    settings = scaled(url, breaker_s=0.5, breaker_max_s=0.5)
    first, second = Seen(dependency.ask), Seen()
    superseded = stored(5).replace(b"memory.stored", b"memory.superseded").replace(b'"change"', b'"reason"')
    superseded = superseded.replace(b'"created"', b'"forgotten"')
    both = Service("indexer-text", [_reads(STORED, first), _reads(SUPERSEDED, second)], settings)
    await publish(settings, stored(1))
    async with started(both):
        await eventually(lambda: first.batches)
        await publish(settings, superseded, stream="memory.superseded")
        dependency.up = True
        await eventually(lambda: second.all == [5])
    assert second.times[0] - first.times[0] >= 0.249, "not before the pause is over"


async def test_a_failing_neighbour_does_not_hide_that_a_dependency_is_down(url: str) -> None:
    """Each entry of a failed batch is tried alone; one that meets the missing dependency waits and is not counted."""
    up = asyncio.Event()

    async def mixed(batch: Sequence[Delivery[Any]]) -> None:
        ids = numbers(batch)
        if 1 in ids:
            raise LookupError
        if 2 in ids and not up.is_set():
            raise TryLater("down")

    settings, seen = scaled(url, backoff_s=(60,)), Seen(mixed)
    await publish(settings, stored(1), stored(2), stored(3))
    async with looking(settings) as looks, started(service(settings, seen)):
        await eventually(lambda: seen.batches.count([2]) >= 3)
        up.set()
        await eventually(lambda: [3] in seen.batches)
        await eventually(looks.parked)
        assert [value.split(" ")[0] for value in (await looks.state()).values()] == ["1"]


@pytest.mark.parametrize("late_s", [0.0, 0.06], ids=["at once", "late"])
async def test_low_priority_is_read_only_while_the_live_streams_are_quiet(url: str, late_s: float) -> None:
    """Late answers do not mean that there are no entries."""
    async with TcpProxy(urlsplit(url).port or 0).open() as proxy:
        proxy.late_s = late_s
        await low_after_live(f"redis://127.0.0.1:{proxy.port}/0")


async def low_after_live(url: str) -> None:
    settings = scaled(url, batch=2)
    order: list[str] = []

    async def live(batch: Sequence[Delivery[Any]]) -> None:
        order.extend("live" for _ in batch)
        await asyncio.sleep(0.01)

    async def low(batch: Sequence[Delivery[Any]]) -> None:
        order.extend("low" for _ in batch)

    reindex = [stored(number).replace(b"memory.stored", b"memory.reindex") for number in range(6)]
    await publish(settings, *reindex, stream="memory.reindex")
    await publish(settings, *(stored(number) for number in range(20)))
    reads = [_reads(REINDEX, low, low_priority=True), _reads(STORED, live)]
    async with started(Service("embedder", reads, settings)):
        await eventually(lambda: len(order) == 26)
        assert order == ["live"] * 20 + ["low"] * 6
        await publish(settings, reindex[0], stream="memory.reindex")
        await eventually(lambda: len(order) == 27)


def _reads(spec: Any, handler: Any, *, low_priority: bool = False) -> Subscription:
    return Subscription(spec=spec, handler=handler, low_priority=low_priority)
