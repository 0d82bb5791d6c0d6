"""Since when entries wait for a group: unread, pending, parked."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from openbrain.domain.errors import TryLater
from openbrain.domain.memory import MICROSECONDS
from openbrain.streams.monitoring.oldest_entry import oldest_waiting, waiting_since
from tests.servers.places import free_port
from tests.support.store.fixtures import FakeClock

GROUP = "indexer-text"


@pytest.fixture(params=("valkey", "redis"))
async def client(request: pytest.FixtureRequest) -> AsyncIterator[Any]:
    async with Redis.from_url(request.getfixturevalue(f"{request.param}_server").url) as client:
        yield client


@pytest.fixture
async def stream(client: Any, request: pytest.FixtureRequest) -> AsyncIterator[str]:
    name = f"waiting.{request.node.name}"
    yield name
    await client.delete(name)


async def add(client: Any, stream: str, milliseconds: int) -> None:
    await client.xadd(stream, {"a": "b"}, id=f"{milliseconds}-0")


async def test_nothing_waits_where_nothing_is(client: Any, stream: str) -> None:
    assert await oldest_waiting(client, [(stream, GROUP)]) is None


async def test_a_group_that_never_came_has_everything_before_it(client: Any, stream: str) -> None:
    await add(client, stream, 1000)
    await add(client, stream, 2000)
    assert await oldest_waiting(client, [(stream, GROUP)]) == 1_000_000


async def test_what_is_in_hand_waits_until_it_is_acknowledged(client: Any, stream: str) -> None:
    for milliseconds in (1000, 2000, 3000):
        await add(client, stream, milliseconds)
    await client.xgroup_create(stream, GROUP, "0")
    await client.xreadgroup(GROUP, "one", {stream: ">"}, count=2)
    assert await oldest_waiting(client, [(stream, GROUP)]) == 1_000_000
    await client.xack(stream, GROUP, "1000-0")
    assert await oldest_waiting(client, [(stream, GROUP)]) == 2_000_000
    await client.xack(stream, GROUP, "2000-0")
    assert await oldest_waiting(client, [(stream, GROUP)]) == 3_000_000
    await client.xreadgroup(GROUP, "one", {stream: ">"})
    await client.xack(stream, GROUP, "3000-0")
    assert await oldest_waiting(client, [(stream, GROUP)]) is None


async def test_the_slowest_of_several_readers_counts(client: Any, stream: str) -> None:
    await add(client, stream, 1000)
    await add(client, stream, 2000)
    await client.xgroup_create(stream, GROUP, "1000-0")
    await client.xgroup_create(stream, "other", "0")
    assert await oldest_waiting(client, [(stream, GROUP)]) == 2_000_000
    assert await oldest_waiting(client, [(stream, GROUP), (stream, "other")]) == 1_000_000


@pytest.mark.parametrize("hours", [-1, 0, 1])
async def test_a_server_whose_clock_is_another_is_asked_how_long(client: Any, stream: str, hours: int) -> None:
    seconds, micros = await client.time()
    ours = FakeClock(seconds * MICROSECONDS + micros + hours * 3600 * MICROSECONDS)
    assert await waiting_since(client, [(stream, GROUP)], ours) is None
    await add(client, stream, seconds * 1000 - 5000)

    since = await waiting_since(client, [(stream, GROUP)], ours)

    assert since is not None
    waited = ours.now() - since
    assert waited >= 5 * MICROSECONDS, "too long is safer than too short"
    assert waited < 600 * MICROSECONDS


async def test_a_server_that_is_away_is_no_answer() -> None:
    async with Redis(port=free_port(), retry=Retry(NoBackoff(), 0)) as nobody:
        for ask in (oldest_waiting(nobody, [("any", GROUP)]), waiting_since(nobody, [("any", GROUP)], FakeClock())):
            with pytest.raises(TryLater):
                await ask
