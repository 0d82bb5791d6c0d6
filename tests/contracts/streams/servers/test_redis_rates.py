"""Token buckets shared by replicas, on real servers; and while the server is gone."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import structlog
from redis.asyncio import Redis

from openbrain.adapters.local.clock import SystemClock
from openbrain.adapters.redis import rates as redis_rates
from openbrain.adapters.redis.rates import RedisRates
from openbrain.observability import metrics
from openbrain.ports.store.tenants import Allowance, Rate
from openbrain.settings import Streams
from openbrain.streams.redis.connection import connect_as
from tests.servers.processes.process import ServerProcess
from tests.support.processes.tcp_proxy import TcpProxy
from tests.support.waiting import PATIENCE_S, until

SLOW = Rate(per_minute=1, burst=100)
"""Refills next to nothing during a test."""
ANSWER_S = redis_rates._ANSWER_S


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not treat a slow server as away, or each process would count by itself."""
    monkeypatch.setattr(redis_rates, "_ANSWER_S", PATIENCE_S)


@pytest.fixture
def settings(url: str) -> Streams:
    return Streams(url=url, prefix=f"{uuid.uuid4().hex}.")


class Counting(Redis):
    """Counts the commands sent to the server."""

    asked = 0

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        self.asked += 1
        return await super().execute_command(*args, **options)  # type: ignore[no-untyped-call]


@asynccontextmanager
async def opened(settings: Streams, count: int = 1) -> AsyncIterator[list[RedisRates]]:
    replicas = [RedisRates(settings, SystemClock()) for _ in range(count)]
    try:
        yield replicas
    finally:
        for each in replicas:
            await each.close()


@pytest.fixture
async def replicas(settings: Streams) -> AsyncIterator[list[RedisRates]]:
    async with opened(settings, 3) as each:
        yield each


async def drained(rates: RedisRates, rate: Rate, cost: int = 1, tries: int = 500) -> int:
    granted = [await rates.take("k", rate, cost) for _ in range(tries)]
    return sum(each.granted for each in granted)


async def test_replicas_give_out_one_bucket_together(replicas: list[RedisRates]) -> None:
    taken = await asyncio.gather(*(drained(each, SLOW) for each in replicas))

    assert 100 <= sum(taken) <= 101


async def test_each_holder_and_each_rate_has_its_own(replicas: list[RedisRates]) -> None:
    one, *_ = replicas
    assert await drained(one, SLOW) in (100, 101)
    assert (await one.take("other", SLOW, 1)).granted
    assert not (await one.take("k", SLOW, 1)).granted


async def test_a_refusal_says_when_and_a_grant_what_is_left(settings: Streams) -> None:
    rate = Rate(per_minute=6, burst=10)  # refills slowly, however slow this machine is
    async with opened(settings) as (rates,):
        first = await rates.take("k", rate, 4)
        second = await rates.take("k", rate, 4)
        third = await rates.take("k", rate, 4)

    assert (first.granted, first.remaining, second.granted) == (True, 6, True)
    assert 30 <= first.full_in_s <= 40
    assert not third.granted
    assert 0 < third.retry_after_s <= 20


async def test_what_was_used_up_comes_back(settings: Streams) -> None:
    rate = Rate(per_minute=6000, burst=20)
    async with opened(settings) as (rates,):
        await drained(rates, rate, tries=100)

        async def granted() -> bool:
            return (await rates.take("k", rate, 1)).granted

        await until(granted)


async def test_most_requests_cost_no_round_trip(settings: Streams) -> None:
    rate = Rate(per_minute=60_000, burst=5000)
    async with connect_as(Counting, settings) as client:
        rates = RedisRates(settings, SystemClock(), client)
        for _ in range(1000):
            assert (await rates.take("k", rate, 1)).granted
            await asyncio.sleep(0)
        await rates.close()

        assert client.asked <= 25


async def test_a_flood_that_is_refused_leaves_the_server_alone(settings: Streams) -> None:
    async with connect_as(Counting, settings) as client:
        rates = RedisRates(settings, SystemClock(), client)
        await drained(rates, SLOW, tries=102)
        before = client.asked
        await drained(rates, SLOW, tries=2000)
        await rates.close()

        assert client.asked - before <= 5


@pytest.mark.servers("redis")
async def test_a_server_that_dies_leaves_each_process_to_itself(
    private_server: Callable[[str], ServerProcess],
) -> None:
    """Requests continue, limited by this process's own count; log and metric report it; afterwards all is as before."""
    server = private_server("redis")
    settings = Streams(url=f"redis://127.0.0.1:{server.port}/0")
    async with opened(settings, 2) as (one, two):
        assert (await one.take("k", SLOW, 60)).granted
        assert metrics.API_RATES_SHARED._value.get() == 1
        with structlog.testing.capture_logs() as logged:
            server.kill()
            alone = await drained(one, SLOW, tries=300)
            fresh = await drained(two, SLOW, tries=300)
            assert metrics.API_RATES_SHARED._value.get() == 0
            server.restart()

            async def shared() -> bool:
                return any(line["event"] == "streams.redis_answers" for line in logged)

            await until(shared)
            assert metrics.API_RATES_SHARED._value.get() == 1

        assert alone in (40, 41), "the known level of a bucket is not forgotten"
        assert fresh in (100, 101), "another process counts for itself"
        events = [line["event"] for line in logged]
        assert events == ["streams.redis_trouble", "streams.redis_answers"], "once per process, not per request"


@pytest.mark.parametrize("at_once", [False, True])
async def test_a_server_that_does_not_answer_costs_one_short_wait(
    redis_server: ServerProcess, monkeypatch: pytest.MonkeyPatch, at_once: bool
) -> None:
    monkeypatch.setattr(redis_rates, "_ANSWER_S", ANSWER_S)
    async with TcpProxy(redis_server.port).open() as proxy:
        settings = Streams(url=f"redis://127.0.0.1:{proxy.port}/0", prefix=f"{uuid.uuid4().hex}.")
        proxy.silent = True
        async with opened(settings) as (rates,):
            loop = asyncio.get_running_loop()
            begun = loop.time()
            taken: list[Allowance]
            if at_once:
                taken = await asyncio.gather(*(rates.take("k", SLOW, 1) for _ in range(50)))
            else:
                taken = [await rates.take("k", SLOW, 1) for _ in range(50)]
            took = loop.time() - begun

    assert all(each.granted for each in taken)
    # One wait is a quarter of a second and fifty would be twelve seconds: the limit leaves room for a busy machine.
    assert took < 8
