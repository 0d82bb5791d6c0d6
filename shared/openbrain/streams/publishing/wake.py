"""Wake-up hints across processes, by PUBLISH and SUBSCRIBE."""

import asyncio
import contextlib

from redis.asyncio.client import PubSub

from openbrain.settings import Streams
from openbrain.streams.redis.connection import AWAY, Connected

_DEAF_S = 0.05
"""Pause while no hint can be received."""


class RedisWake(Connected):
    """`openbrain.ports.streams.Wake` on a Redis channel. A lost hint costs the receiver one poll interval."""

    def __init__(self, settings: Streams) -> None:
        super().__init__(settings)
        self._channel = f"{settings.prefix}openbrain.wake"
        self._pubsub: PubSub | None = None

    async def notify(self) -> None:
        """Wake all waiters. Never raises and never waits long."""
        with contextlib.suppress(*AWAY, TimeoutError):
            async with asyncio.timeout(0.5):
                await self._client.publish(self._channel, b"")

    async def wait(self, timeout: float) -> bool:
        """Return True when notified, also if that was since the last wait; False after at most `timeout` seconds: at
        once if earlier hints may have been lost, soon while none can be received."""
        loop = asyncio.get_running_loop()
        until = loop.time() + timeout
        try:
            if self._pubsub is None:
                self._pubsub = await self._subscribed()
                await self._pubsub.get_message(timeout=timeout)  # the subscription's confirmation
                return False
            return await self._receive(self._pubsub, until)
        except AWAY:
            await self._drop()
            await asyncio.sleep(max(0.0, min(_DEAF_S, until - loop.time())))
            return False

    async def _subscribed(self) -> PubSub:
        pubsub = self._client.pubsub(ignore_subscribe_messages=True)
        try:
            await pubsub.subscribe(self._channel)
        except BaseException:  # also a cancellation: without a subscription no later wait would receive anything
            with contextlib.suppress(*AWAY):
                await pubsub.aclose()  # type: ignore[no-untyped-call]
            raise
        return pubsub

    async def _receive(self, pubsub: PubSub, until: float) -> bool:
        loop = asyncio.get_running_loop()
        received = False
        while not received and (left := until - loop.time()) > 0:
            received = await pubsub.get_message(timeout=left) is not None
        while received and await pubsub.get_message(timeout=0) is not None:
            pass  # several hints count as one
        return received

    async def _drop(self) -> None:
        pubsub, self._pubsub = self._pubsub, None
        if pubsub is not None:
            with contextlib.suppress(*AWAY):
                await pubsub.aclose()  # type: ignore[no-untyped-call]

    async def close(self) -> None:
        """Leave the channel and close the client created here."""
        await self._drop()
        await super().close()
