"""A hint across processes, by PUBLISH and SUBSCRIBE."""

import asyncio
import contextlib

from redis.asyncio.client import PubSub

from openbrain.settings import Streams
from openbrain.streams.redis.connection import AWAY, Connected

_DEAF_S = 0.05
"""A wait while no hint can be heard."""


class RedisWake(Connected):
    """`openbrain.ports.streams.Wake` on a Redis channel. A hint that gets lost costs the other side one poll."""

    def __init__(self, settings: Streams) -> None:
        super().__init__(settings)
        self._channel = f"{settings.prefix}openbrain.wake"
        self._pubsub: PubSub | None = None

    async def notify(self) -> None:
        """Wake whoever waits. Never raises and never waits long."""
        with contextlib.suppress(*AWAY, TimeoutError):
            async with asyncio.timeout(0.5):
                await self._client.publish(self._channel, b"")

    async def wait(self, timeout: float) -> bool:
        """True once notified, also if that was since the last wait; False after at most `timeout` seconds: at once
        where hints may have been lost before, soon while none can be heard."""
        loop = asyncio.get_running_loop()
        until = loop.time() + timeout
        try:
            if self._pubsub is None:
                self._pubsub = self._client.pubsub(ignore_subscribe_messages=True)
                await self._pubsub.subscribe(self._channel)
                await self._pubsub.get_message(timeout=timeout)  # the answer to that
                return False
            return await self._receive(self._pubsub, until)
        except AWAY:
            await self._drop()
            await asyncio.sleep(max(0.0, min(_DEAF_S, until - loop.time())))
            return False

    async def _receive(self, pubsub: PubSub, until: float) -> bool:
        loop = asyncio.get_running_loop()
        received = False
        while not received and (left := until - loop.time()) > 0:
            received = await pubsub.get_message(timeout=left) is not None
        while received and await pubsub.get_message(timeout=0) is not None:
            pass  # many hints are one
        return received

    async def _drop(self) -> None:
        pubsub, self._pubsub = self._pubsub, None
        if pubsub is not None:
            with contextlib.suppress(*AWAY):
                await pubsub.aclose()  # type: ignore[no-untyped-call]

    async def close(self) -> None:
        """Leave the channel and close what was made here."""
        await self._drop()
        await super().close()
