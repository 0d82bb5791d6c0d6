"""Pauses, the breaker and the service's clock, with time and randomness under control."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis.exceptions import ConnectionError as NoConnection
from redis.exceptions import TimeoutError as NoAnswer
from structlog.testing import capture_logs

from openbrain.domain.errors import TryLater
from openbrain.domain.tasks import Backoff
from openbrain.settings import Streams
from openbrain.streams.handling.backoff import ErrorState
from openbrain.streams.handling.breaker import Breaker
from openbrain.streams.handling.runtime import Closing, Runtime, consumer_name
from openbrain.streams.redis.outage import FORGOTTEN_S, Link, Outage
from tests.support.waiting import PATIENCE_S


@given(st.floats(0.001, 10), st.floats(0.001, 100), st.integers(1, 40), st.floats(0, 1))
def test_pauses_grow_to_their_limit_and_are_spread(first: float, limit: float, tries: int, chance: float) -> None:
    backoff = Backoff(first, limit, lambda: chance)
    pauses = [backoff.next() for _ in range(tries)]
    assert all(pause <= limit for pause in pauses)
    assert pauses == sorted(pauses)
    assert min(first, limit) / 2 <= pauses[0] <= min(first, limit)
    backoff.reset()
    assert backoff.next() == pauses[0]


def test_the_breaker_opens_longer_each_time_and_closes_at_once() -> None:
    now = [0.0]
    breaker = Breaker("ingest", Backoff(1, 30, lambda: 1), lambda: now[0])
    assert breaker.wait_s() == 0
    with capture_logs() as logs:
        for pause in (1, 2, 4, 8, 16, 30, 30):
            breaker.failed(TryLater("down"))
            assert breaker.wait_s() == pause
            now[0] += pause
            assert (breaker.wait_s(), breaker.is_open) == (0, True)
        breaker.succeeded()
        breaker.succeeded()
    assert not breaker.is_open
    assert [line["event"] for line in logs] == ["streams.breaker_opened", "streams.breaker_closed"]
    breaker.failed(TryLater("down"))
    assert breaker.wait_s() == 1


async def test_trouble_is_told_when_it_begins_changes_and_ends() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    error_state = ErrorState("read s", 5, sleep, Outage())
    with capture_logs() as logs:
        error_state.clear()
        for error in (OSError("a"), OSError("b"), ValueError("c"), ValueError("d")):
            await error_state.record(error)
        error_state.clear()
        error_state.clear()
    assert [(line["event"], line.get("error")) for line in logs] == [
        ("streams.redis_trouble", "OSError"),
        ("streams.redis_trouble", "ValueError"),
        ("streams.redis_answers", None),
    ]
    assert slept == sorted(slept)
    assert len(slept) == 4


async def test_one_pause_of_the_stream_server_is_told_once_by_all_loops_of_a_process() -> None:
    async def sleep(_: float) -> None:
        """Return at once."""

    outage = Outage()
    loops = [ErrorState(f"loop {number}", 5, sleep, outage) for number in range(20)]
    with capture_logs() as logs:
        for _ in range(2):
            for number, each in enumerate(loops * 2):
                await each.record((OSError, NoConnection, NoAnswer, TimeoutError)[number % 4]("away"))
            for each in loops:
                each.clear()
        for each in loops[:2]:
            await each.record(OSError())
        loops.remove(each)
        del each  # the service was stopped meanwhile
        loops[0].clear()
    begun_and_over = ["streams.redis_trouble", "streams.redis_answers"]
    assert [line["event"] for line in logs] == begun_and_over * 3


def test_a_link_that_is_out_of_use_keeps_no_outage_open() -> None:
    now = [0.0]
    outage = Outage(lambda: now[0])
    reader, client = Link("read s", outage), Link("seldom used", outage)
    with capture_logs() as logs:
        for _ in range(2):
            reader.failed(OSError())
            client.failed(OSError())
            now[0] += FORGOTTEN_S + 1
            reader.failed(OSError())
            reader.answered()
    assert [line["event"] for line in logs] == ["streams.redis_trouble", "streams.redis_answers"] * 2


def _runtime(now: list[float]) -> Runtime:
    return Runtime("embedder", Streams(), asyncio.Lock(), 600, clock=lambda: now[0])


def test_a_loop_that_is_not_heard_of_is_stuck() -> None:
    now = [0.0]
    runtime = _runtime(now)
    runtime.heartbeat("read")
    runtime.heartbeat("reap", 100)
    now[0] = 60
    assert runtime.stuck() == []
    now[0] = 61
    assert runtime.stuck() == ["read"]
    runtime.heartbeat("read")
    assert runtime.stuck() == []


def test_a_link_that_leaves_keeps_no_absence_open() -> None:
    outage = Outage()
    leaving, staying = Link("rate limits", outage), Link("read s", outage)
    with capture_logs() as logs:
        leaving.failed(NoConnection())
        staying.failed(NoConnection())
        leaving.leave()
        staying.answered()
        leaving.answered()
    assert [line["event"] for line in logs] == ["streams.redis_trouble", "streams.redis_answers"]


async def test_a_sleep_ends_when_the_room_closes() -> None:
    runtime = _runtime([0.0])
    await runtime.sleep(0.001)
    sleeping = asyncio.create_task(runtime.sleep(10 * PATIENCE_S))
    await asyncio.sleep(0)
    runtime.closing.set()
    with pytest.raises(Closing):
        await asyncio.wait_for(sleeping, PATIENCE_S)


def test_a_consumers_name_is_new_each_time() -> None:
    assert consumer_name() != consumer_name()
