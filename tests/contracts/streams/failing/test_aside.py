"""A dependency that is away stops only what needs it: the rest continues, and what waits is bounded and stays in
order."""

from collections.abc import Sequence
from typing import Any

from openbrain.domain.errors import TryLater
from openbrain.domain.events.streams import REINDEX, STORED, StreamSpec
from openbrain.settings import Streams
from openbrain.streams.group.delivery import Delivery, Results
from openbrain.streams.group.subscription import Subscription
from openbrain.streams.reading.service import Service
from tests.support.streams.consumers import (
    Answer,
    Looks,
    eventually,
    looking,
    numbers,
    publish,
    scaled,
    started,
    stored,
)


class Model:
    """A dependency of odd events, away until `there` is set; the database is a dependency of all."""

    def __init__(self) -> None:
        self.there, self.database = False, True
        self.done: list[int] = []
        self.tried: list[list[int]] = []
        """Batches with which the handler was called and that need the model."""
        self.failures: set[int] = set()

    async def handle(self, batch: Sequence[Delivery[Any]]) -> Results:
        self.tried.append(numbers(batch))
        return self._answer(batch)

    async def without(self, batch: Sequence[Delivery[Any]]) -> Results:
        return self._answer(batch)

    def _answer(self, batch: Sequence[Delivery[Any]]) -> Results:
        if not self.database:
            raise TryLater("the database is away")
        self.failures |= {delivery.failures for delivery in batch}
        away = [number % 2 == 1 and not self.there for number in numbers(batch)]
        self.done += [number for number, waits in zip(numbers(batch), away, strict=True) if not waits]
        return [TryLater("the model is away") if waits else None for waits in away]

    def reads(self, spec: StreamSpec = STORED, *, low_priority: bool = False) -> Subscription:
        return Subscription(spec=spec, handler=self.handle, degraded_handler=self.without, low_priority=low_priority)


def service(settings: Streams, model: Model) -> Service:
    return Service("embedder", [model.reads()], settings)


async def test_what_needs_no_model_passes_batch_after_batch_and_the_rest_comes_in_order(url: str) -> None:
    model, settings = Model(), scaled(url, batch=4, breaker_s=0.3, lease_s=0.3, reap_s=0.02)
    await publish(settings, *(stored(number) for number in range(60)))
    async with looking(settings) as looks, started(service(settings, model)):
        await eventually(lambda: len(model.done) == 30)
        assert model.done == list(range(0, 60, 2))
        await publish(settings, stored(60), stored(61))
        await eventually(lambda: 60 in model.done)
        await eventually(lambda: _pending(looks, 31), why="all that waits is in hand")

        model.there = True
        await eventually(looks.idle)
        assert await looks.state() == {}, "no attempt was burned, and no lease ran out"
        assert await looks.dead() == []

    assert model.done[31:] == list(range(1, 62, 2)), "in the order they came, each once"
    assert model.failures == {0}


async def test_no_more_is_taken_than_may_wait_and_the_stream_keeps_the_rest(url: str) -> None:
    model, settings = Model(), scaled(url, batch=4, aside=10)
    await publish(settings, *(stored(number) for number in range(1, 100, 2)), stored(100))
    async with looking(settings) as looks, started(service(settings, model)):
        await eventually(lambda: _pending(looks, 10))
        tried = len(model.tried)
        await eventually(lambda: len(model.tried) >= tried + 3)
        assert await looks.pending() == 10
        assert model.done == []
        assert {number for batch in model.tried for number in batch} <= set(range(1, 20, 2))

        model.there = True
        await eventually(looks.idle)

    assert model.done == [*range(1, 100, 2), 100]


async def test_the_model_is_tried_with_a_batch_and_not_with_all_that_waits(url: str) -> None:
    model, settings = Model(), scaled(url, batch=4)
    await publish(settings, *(stored(number) for number in range(1, 40, 2)))
    async with looking(settings) as looks, started(service(settings, model)):
        await eventually(lambda: _pending(looks, 20))
        tried = len(model.tried)
        await eventually(lambda: len(model.tried) >= tried + 3)
        assert max(map(len, model.tried)) == 4


async def test_what_waits_is_given_back_uncounted_when_the_room_stops(url: str) -> None:
    model, settings = Model(), scaled(url, batch=4)
    await publish(settings, *(stored(number) for number in range(40)))
    async with looking(settings) as looks:
        async with started(service(settings, model)):
            await eventually(lambda: len(model.done) == 20)
        assert len(await looks.parked()) == await looks.pending() == 20

        # Resumed while the model is still away: whether or not that is known by then, no entry is lost or counted as
        # failed.
        other = Model()

        async def taken_up() -> bool:
            return not await looks.parked()

        async with started(service(settings, other)):
            await publish(settings, stored(41), stored(42))
            await eventually(lambda: other.done == [42])
            await eventually(taken_up)
            await eventually(lambda: _pending(looks, 21))
            other.there = True
            await eventually(looks.idle)
        assert await looks.state() == {}

    assert sorted(other.done) == [*range(1, 41, 2), 41, 42]
    assert other.failures == {0}


async def test_when_nothing_can_go_on_nothing_more_is_read(url: str) -> None:
    model, settings = Model(), scaled(url, batch=4)
    model.database = False
    await publish(settings, *(stored(number) for number in range(40)))
    async with looking(settings) as looks, started(service(settings, model)):
        await eventually(lambda: len(model.tried) >= 5)
        assert await looks.pending() <= 8, "the batch that met it, and one tried without those entries"
        model.database = model.there = True
        await eventually(looks.idle)

    assert model.done == list(range(40))
    assert model.failures == {0}


async def test_reindexing_goes_on_beside_live_entries_that_can_only_wait(url: str) -> None:
    live, low = Model(), Model()
    settings = scaled(url, batch=4, breaker_s=0.2)
    reads = [live.reads(), low.reads(REINDEX, low_priority=True)]
    reindex = [stored(number).replace(b"memory.stored", b"memory.reindex") for number in range(20)]
    await publish(settings, *(stored(number) for number in range(1, 20, 2)))
    async with looking(settings) as looks, started(Service("embedder", reads, settings)):
        await eventually(lambda: live.tried)
        await publish(settings, *reindex, stream="memory.reindex")
        await eventually(lambda: low.done == list(range(0, 20, 2)))
        assert live.done == []
        live.there = low.there = True
        await eventually(looks.idle)
        await eventually(lambda: len(low.done) == 20)

    assert live.done == list(range(1, 20, 2))


async def test_an_entry_that_fails_without_the_model_fails_alone_and_is_counted(url: str) -> None:
    model, settings = Model(), scaled(url, batch=4, backoff_s=(60,))

    def failing(handler: Answer) -> Answer:
        async def handle(batch: Sequence[Delivery[Any]]) -> Results:
            if 6 in numbers(batch):
                raise LookupError
            return await handler(batch)

        return handle

    reads = Subscription(spec=STORED, handler=failing(model.handle), degraded_handler=failing(model.without))
    await publish(settings, *(stored(number) for number in range(12)))
    async with looking(settings) as looks, started(Service("embedder", [reads], settings)):
        await eventually(lambda: len(model.done) == 5)
        assert model.done == [0, 2, 4, 8, 10]
        assert len(await looks.parked()) == 1
        model.there = True
        await eventually(lambda: len(model.done) == 11)
        assert sorted(model.done[5:]) == [1, 3, 5, 7, 9, 11]


async def _pending(looks: Looks, count: int) -> bool:
    """An entry is done a moment before its acknowledgement arrives."""
    return await looks.pending() == count
