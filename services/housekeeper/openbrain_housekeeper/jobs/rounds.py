"""Common parts of jobs: the size of a round, the wait after it, and the relay woken by its events."""

import asyncio
from collections.abc import Awaitable, Callable

from openbrain.ports.streams import Wake

ROUND = 500
"""Rows that one round of expiry or purging takes."""


def every(seconds: float) -> Callable[[int], Awaitable[object]]:
    """At once after a full round, else after the pause."""
    return lambda done: asyncio.sleep(0 if done >= ROUND else seconds)


def after(seconds: float) -> Callable[[int], Awaitable[object]]:
    """Always after the pause."""
    return lambda _: asyncio.sleep(seconds)


def notifying(wake: Wake, round_: Callable[[], Awaitable[int]]) -> Callable[[], Awaitable[int]]:
    """A round that wakes the relay when it did something: its events stand in the outbox."""

    async def woken() -> int:
        done = await round_()
        if done:
            await wake.notify()
        return done

    return woken
