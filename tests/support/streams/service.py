"""A service written as a user of the stream layer would: `faststream run tests.support.streams.service:app` starts it.

It records each delivery in the list `<prefix>handled` as `<process>:<event>`. Event 666 kills the process; while the
key `<prefix>hang` exists, a batch is recorded in `<prefix>begun` and never ends.
"""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from redis.asyncio import Redis

from openbrain.domain.events.data import MemoryStored
from openbrain.domain.events.streams import STORED
from openbrain.settings import load
from openbrain.streams.group.delivery import Delivery
from openbrain.streams.group.subscription import Subscription
from openbrain.streams.reading.service import Service
from openbrain.streams.redis.connection import connect

POISON = "666"


class Resources:
    """What the handler needs, opened by the service."""

    redis: Redis

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Open Redis until the service has stopped."""
        self.redis = connect(load().streams)
        try:
            yield
        finally:
            await self.redis.aclose()


async def handle(batch: Sequence[Delivery[MemoryStored]], redis: Redis, prefix: str) -> None:
    """Record each delivery."""
    ids = [delivery.event.id for delivery in batch]
    if POISON in ids:
        os.kill(os.getpid(), signal.SIGKILL)
    if await redis.exists(f"{prefix}hang"):
        await redis.rpush(f"{prefix}begun", *ids)
        await asyncio.sleep(3600)
    await redis.rpush(f"{prefix}handled", *(f"{os.getpid()}:{each}" for each in ids))


def build() -> Service:
    """Return the service; nothing is opened yet."""
    settings, resources = load(), Resources()

    async def handler(batch: Sequence[Delivery[MemoryStored]]) -> None:
        await handle(batch, resources.redis, settings.streams.prefix)

    subscriptions = [Subscription(spec=STORED, handler=handler)]
    return Service("embedder", subscriptions, settings.streams, resources=resources.open)


def run(env: Mapping[str, str]) -> None:
    """Run in a separate process until it is killed."""
    os.environ.update(env)

    async def main() -> None:
        await build().start()
        await asyncio.Event().wait()

    asyncio.run(main())


def __getattr__(name: str) -> Any:
    if name == "app":
        return build().app(load().logs)
    raise AttributeError(name)
