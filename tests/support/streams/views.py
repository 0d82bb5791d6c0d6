"""Fixtures for what operators see of streams and do to them."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from redis.asyncio import Redis

from openbrain.domain.events.streams import STORED
from openbrain.ports.streams import GroupState
from openbrain.settings import Streams
from openbrain.streams.operating.administration import RedisStreams
from openbrain.streams.operating.redelivery import Redelivery
from openbrain.streams.redis.connection import connect
from tests.support.streams.consumers import scaled, stored


@pytest.fixture(params=("valkey", "redis"))
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_server").url)


@pytest.fixture
def settings(url: str) -> Streams:
    return scaled(url)


@pytest.fixture
async def redis(settings: Streams) -> AsyncIterator[Redis]:
    client = connect(settings)
    yield client
    keys: list[Any] = await client.keys(f"{settings.prefix}*")
    if keys:
        await client.delete(*keys)
    await client.aclose()


@pytest.fixture
def admin(settings: Streams, redis: Any) -> RedisStreams:
    return RedisStreams(settings, redis)


@pytest.fixture
def work(settings: Streams, redis: Any) -> Redelivery:
    return Redelivery(redis, settings)


async def group_of(admin: RedisStreams, name: str = "embedder") -> GroupState:
    (stream,) = await admin.look(STORED.name)
    return next(each for each in stream.groups if each.name == name)


async def fill(redis: Any, stream: str, entries: int) -> list[bytes]:
    pipeline = redis.pipeline(transaction=False)
    for number in range(entries):
        pipeline.xadd(stream, {"__data__": stored(number)})
    return list(await pipeline.execute())
