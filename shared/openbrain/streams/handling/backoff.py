"""A pause that grows, with jitter, logged once."""

import random
from collections.abc import Awaitable, Callable

from openbrain.streams.redis.outage import PROCESS, Link, Outage


class Backoff:
    """Pauses that double up to a limit, each spread over its second half."""

    def __init__(self, first: float, limit: float, chance: Callable[[], float] = random.random) -> None:
        self._first, self._limit, self._chance = first, limit, chance
        self._next = min(first, limit)

    def next(self) -> float:
        """Seconds to wait now."""
        pause, self._next = self._next, min(self._next * 2, self._limit)
        return pause * (0.5 + self._chance() / 2)

    def reset(self) -> None:
        """Begin again with the first pause."""
        self._next = min(self._first, self._limit)


class ErrorState:
    """What goes wrong in one loop: says when it begins, changes and ends, and pauses between the tries."""

    def __init__(
        self, loop: str, limit: float, sleep: Callable[[float], Awaitable[object]], outage: Outage = PROCESS
    ) -> None:
        self.error: Exception | None = None
        self._link = Link(loop, outage)
        self._backoff = Backoff(0.1, limit)
        self._sleep = sleep

    async def record(self, error: Exception) -> None:
        """Tell it, if it is new, and pause."""
        self._link.failed(error)
        self.error = error
        await self._sleep(self._backoff.next())

    def clear(self) -> None:
        """Tell it, if there was trouble."""
        if self.error is not None:
            self._link.answered()
            self.error = None
            self._backoff.reset()
