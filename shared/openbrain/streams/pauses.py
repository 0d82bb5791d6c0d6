"""Waiting that grows, is spread at random, and is told once."""

import random
from collections.abc import Awaitable, Callable

import structlog

from openbrain.streams.connection import words

_log = structlog.get_logger(__name__)


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


class Trouble:
    """What goes wrong in one loop: says when it begins, changes and ends, and pauses between the tries."""

    def __init__(self, loop: str, limit: float, sleep: Callable[[float], Awaitable[object]]) -> None:
        self.error: Exception | None = None
        self._loop = loop
        self._backoff = Backoff(0.1, limit)
        self._sleep = sleep

    async def met(self, error: Exception) -> None:
        """Tell it, if it is new, and pause."""
        if type(self.error) is not type(error):
            _log.warning("streams.redis_trouble", loop=self._loop, error=type(error).__name__, message=words(error))
        self.error = error
        await self._sleep(self._backoff.next())

    def over(self) -> None:
        """Tell it, if there was trouble."""
        if self.error is not None:
            _log.info("streams.redis_answers", loop=self._loop)
            self.error = None
            self._backoff.reset()
