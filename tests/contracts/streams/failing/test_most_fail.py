"""If most entries fail, the reader stops instead of turning them into dead letters, and resumes by itself."""

from collections.abc import Sequence
from typing import Any

import pytest
from structlog.testing import capture_logs

from openbrain.domain.errors import Invalid, NeverRetry
from openbrain.domain.events.envelope import encode
from openbrain.domain.events.streams import STORED, SUBMITTED
from openbrain.domain.events.submission import MemorySubmitted
from openbrain.domain.memory import MemoryType
from openbrain.observability import metrics
from openbrain.ports.streams import Burial
from openbrain.streams.group.delivery import Delivery, Results
from openbrain.streams.group.subscription import Subscription
from openbrain.streams.operating.redelivery import Redelivery
from openbrain.streams.reading.service import Service
from openbrain.streams.redis.connection import connect
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

FIRST = 60
QUICK: dict[str, Any] = {"batch": 16, "breaker_s": 0.02, "breaker_max_s": 0.08, "backoff_s": (0.05, 0.1, 0.15)}
"""Short pauses, for tests of what becomes of entries rather than of the pauses."""


def submitted(number: int) -> bytes:
    """A memory.submitted event."""
    data = MemorySubmitted(content="x", type=MemoryType.FACT)
    return encode(SUBMITTED.name, data, event_id=str(number), at=0, subject="s")


class Deployment:
    """Broken until it is fixed: fails per batch or per entry; entries in `poison` fail for ever."""

    def __init__(self, *, whole: bool = False, error: type[Exception] = LookupError) -> None:
        self.broken, self.whole, self.error = True, whole, error
        self.poison: set[int] = set()
        self.done: list[int] = []

    async def handle(self, batch: Sequence[Delivery[Any]]) -> Results:
        failing = [self.broken or number in self.poison for number in numbers(batch)]
        if any(failing) and self.whole:
            raise self.error
        self.done += [number for number, fails in zip(numbers(batch), failing, strict=True) if not fails]
        return [self.error() if fails else None for fails in failing]


def stopped(looks: Looks) -> float:
    """The value of the gauge."""
    return float(metrics.STREAM_STOPPED.labels(looks.stream, looks.group)._value.get())


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("error", [LookupError, lambda: NeverRetry("refused")])
async def test_a_deployment_that_fails_all_loses_nothing_and_burns_next_to_nothing(
    url: str, error: Any, whole: bool
) -> None:
    deployment, settings = Deployment(error=error if not whole else LookupError, whole=whole), scaled(url, **QUICK)
    seen = Seen(deployment.handle)
    await publish(settings, *(stored(number) for number in range(FIRST)))
    reading = service(settings, seen)
    with capture_logs() as logs:
        async with looking(settings) as looks, started(reading):
            await eventually(lambda: stopped(looks))
            await eventually(lambda: len(seen.batches) > 20)
            assert await looks.dead() == []
            burned = len(await looks.state())
            assert burned <= (9 if whole else 0), "only what failed before it was clear that most fail"
            assert await looks.pending() <= 2 * 16 + burned, "the number of pending entries is bounded"
            assert list(await reading.unready()) == ["entries"]
            assert "of the last" in (await reading.unready())["entries"]

            deployment.broken = False
            await eventually(lambda: len(deployment.done) == FIRST)
            await eventually(looks.idle)
            assert await reading.unready() == {}
            assert stopped(looks) == 0
            assert await looks.dead() == []

    assert sorted(deployment.done) == list(range(FIRST)), "each once"
    events = [line["event"] for line in logs]
    assert events.count("streams.most_fail") == 1
    assert events.count("streams.entries_pass") == 1


async def test_it_is_tried_with_one_entry_after_growing_pauses(url: str) -> None:
    deployment, settings = Deployment(), scaled(url, batch=16, breaker_s=0.1, breaker_max_s=0.4)
    seen = Seen(deployment.handle)
    await publish(settings, *(stored(number) for number in range(16)))
    async with started(service(settings, seen)):
        await eventually(lambda: len(seen.batches) >= 6)
    probes = seen.batches[1:]
    assert {len(batch) for batch in probes} == {1}
    assert len({batch[0] for batch in probes}) > 1, "not always the same one"
    pauses = [later - earlier for earlier, later in zip(seen.times, seen.times[1:], strict=False)]
    assert min(pauses) >= 0.049
    assert max(pauses[2:]) >= 0.19, pauses


async def test_a_poison_in_front_does_not_hide_in_a_quiet_stream_that_the_others_would_do(url: str) -> None:
    deployment, settings = Deployment(), scaled(url, **QUICK)
    deployment.poison, seen = {0}, Seen(deployment.handle)
    await publish(settings, *(stored(number) for number in range(16)))
    async with looking(settings) as looks, started(service(settings, seen)):
        await eventually(lambda: len(seen.batches) > 4)
        deployment.broken = False
        await eventually(looks.idle)
        assert [letter["attempts"] for letter in await looks.dead()] == ["4"]
    assert sorted(deployment.done) == list(range(1, 16))


async def test_one_poison_among_good_neighbours_is_buried_as_ever(url: str) -> None:
    deployment, settings = Deployment(whole=True), scaled(url, batch=16)
    deployment.broken, deployment.poison = False, {7}
    await publish(settings, *(stored(number) for number in range(FIRST)))
    async with looking(settings) as looks, started(service(settings, deployment.handle)):
        await eventually(looks.dead)
        assert [letter["attempts"] for letter in await looks.dead()] == ["4"]
        await eventually(lambda: len(deployment.done) == FIRST - 1)


async def test_a_heap_of_poison_in_a_quiet_stream_does_not_hold_back_what_comes_behind(url: str) -> None:
    deployment, settings = Deployment(), scaled(url, **QUICK)
    deployment.broken, deployment.poison = False, set(range(12))
    await publish(settings, *(stored(number) for number in range(12)))
    async with looking(settings) as looks, started(service(settings, deployment.handle)):
        await eventually(lambda: stopped(looks))
        await publish(settings, stored(100))
        await eventually(lambda: deployment.done == [100])
        number = 101

        async def buried() -> bool:
            nonlocal number
            await publish(settings, stored(number))
            number += 1
            return len(await looks.dead()) == 12

        await eventually(buried, every=0.1)
        await eventually(lambda: sorted(deployment.done) == list(range(100, number)))
        assert {letter["attempts"] for letter in await looks.dead()} == {"4"}


async def test_it_reads_on_once_an_operator_has_buried_what_failed(url: str) -> None:
    """No new entry is needed: on a quiet stream the next one may come in hours."""
    deployment, settings = Deployment(), scaled(url, **QUICK)
    await publish(settings, *(stored(number) for number in range(16)))
    reading = service(settings, deployment.handle)
    client: Any = connect(settings)
    async with looking(settings) as looks, started(reading):
        await eventually(lambda: stopped(looks))
        work, ids = Redelivery(client, settings), [entry for entry, _ in await client.xrange(looks.stream)]

        async def all_buried() -> bool:
            done = [await work.bury(STORED.name, looks.group, entry.decode(), "they can't be handled") for entry in ids]
            return set(done) == {Burial.BURIED}

        await eventually(all_buried)
        await eventually(lambda: not stopped(looks))
        assert await reading.unready() == {}
        assert {letter["attempts"] for letter in await looks.dead()} == {"0"}
    await client.aclose()


async def test_events_of_ours_that_cannot_be_read_stop_it_and_are_kept(url: str) -> None:
    """As after a deployment that can't read any event."""
    settings, seen = scaled(url, batch=16), Seen()
    async with looking(settings) as looks:
        for number in range(20):
            await looks.client.xadd(looks.stream, {"__data__": f"no event {number}"})
        async with started(service(settings, seen)):
            await eventually(lambda: stopped(looks))
            await eventually(looks.pending)
            assert await looks.dead() == []
            await publish(settings, stored(1))
            await eventually(lambda: seen.all == [1])
            await eventually(lambda: _letters(looks, 20))


async def test_what_others_send_is_refused_without_end_and_stops_nothing(url: str) -> None:
    async def refusing(batch: Sequence[Delivery[Any]]) -> Results:
        return [Invalid("org", "not yours")] * len(batch)

    settings = scaled(url, batch=16)
    ingest = Service("ingest", [Subscription(spec=SUBMITTED, handler=refusing)], settings)
    async with looking(settings, SUBMITTED.name, "ingest") as looks:
        for number in range(40):
            await looks.client.xadd(looks.stream, {"__data__": f"no event {number}"})
        for number in range(40):
            await looks.client.xadd(looks.stream, {"__data__": submitted(number)})
        async with started(ingest):
            await eventually(lambda: _letters(looks, 80))
            assert stopped(looks) == 0
            assert {letter["error"] for letter in await looks.dead()} == {"Invalid"}


async def test_a_bug_of_ours_stops_a_stream_of_others_too(url: str) -> None:
    deployment, settings = Deployment(), scaled(url, batch=16)
    ingest = Service("ingest", [Subscription(spec=SUBMITTED, handler=deployment.handle)], settings)
    async with looking(settings, SUBMITTED.name, "ingest") as looks:
        for number in range(20):
            await looks.client.xadd(looks.stream, {"__data__": submitted(number)})
        async with started(ingest):
            await eventually(lambda: stopped(looks))
            deployment.broken = False
            await eventually(looks.idle)
        assert await looks.dead() == []
    assert sorted(deployment.done) == list(range(20))


async def test_what_is_kept_is_given_back_uncounted_when_the_room_stops(url: str) -> None:
    deployment, settings = Deployment(), scaled(url, batch=16, lease_s=30)
    await publish(settings, *(stored(number) for number in range(FIRST)))
    async with looking(settings) as looks:
        async with started(service(settings, deployment.handle)):
            await eventually(lambda: stopped(looks))
        assert len(await looks.parked()) == await looks.pending() > 0
        assert await looks.state() == {}
        deployment.broken = False
        async with started(service(settings, deployment.handle)):
            await eventually(looks.idle)
        assert await looks.dead() == []
    assert sorted(deployment.done) == list(range(FIRST))


async def test_what_it_kept_is_done_by_a_replica_that_is_well(url: str) -> None:
    """Also while the first replica stays stopped: after its first probe fails, it gives all entries back, without
    counting an attempt."""
    broken, well = Deployment(), Deployment()
    well.broken = False
    settings = scaled(url, batch=16, lease_s=30, reap_s=0.02, breaker_s=0.05, breaker_max_s=0.2)
    await publish(settings, *(stored(number) for number in range(16)))
    reading, seen = service(settings, broken.handle), Seen(well.handle)
    async with looking(settings) as looks, started(reading):
        await eventually(lambda: stopped(looks))
        async with started(service(settings, seen)):
            await publish(settings, *(stored(number) for number in range(16, FIRST)))
            await eventually(lambda: len(well.done) == FIRST)
            assert "entries" in await reading.unready(), "the first replica stays stopped, and probes"
        assert await looks.state() == {}, "no attempt was counted"
        assert await looks.dead() == []
    assert sorted(well.done) == list(range(FIRST)), "each once"
    assert {each.failures + each.abandonments for each in seen.deliveries} == {0}


async def test_replicas_that_all_fail_hand_one_entry_to_and_fro_and_no_attempt_counts(url: str) -> None:
    replicas = [Deployment() for _ in range(2)]
    settings = scaled(url, batch=16, lease_s=30, reap_s=0.02, breaker_s=0.05, breaker_max_s=0.1)
    seen = [Seen(each.handle) for each in replicas]
    await publish(settings, *(stored(number) for number in range(16)))
    services = [service(settings, each) for each in seen]
    async with looking(settings) as looks, started(*services):
        await eventually(lambda: all(len(each.batches) > 12 for each in seen))
        for each in seen:
            whole = [batch for batch in each.batches if len(batch) > 1]
            assert len(whole) <= 2, "until it knew that most fail; then one at a time"
            pauses = [later - earlier for earlier, later in zip(each.times[3:], each.times[4:], strict=False)]
            assert min(pauses) >= 0.024, "after a pause"
        assert await looks.state() == {}
        assert await looks.dead() == []

        for deployment in replicas:
            deployment.broken = False
        await eventually(looks.idle)
        assert await looks.dead() == []
    assert sorted(replicas[0].done + replicas[1].done) == list(range(16)), "each once"


async def _letters(looks: Looks, count: int) -> bool:
    return len(await looks.dead()) == count
