"""Waiting that grows, is spread at random, and is told once."""

import random
import weakref
from collections.abc import Awaitable, Callable

import structlog
from redis.exceptions import ConnectionError as NoConnection
from redis.exceptions import TimeoutError as NoAnswer

from openbrain.streams.redis.connection import words

_GONE = (OSError, NoConnection, NoAnswer)
"""In however many words: one absence."""
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


class Outage:
    """The stream server is away: the first loop of a process that meets it tells it, and the last that it is over."""

    def __init__(self) -> None:
        self._in: weakref.WeakSet[ErrorState] = weakref.WeakSet()
        """A loop that ends in trouble is out of it."""
        self._told: set[str] = set()

    def record(self, error_state: "ErrorState", error: Exception) -> None:
        """Tell it, unless it was told."""
        if not self._in:
            self._told.clear()
        self._in.add(error_state)
        name = "away" if isinstance(error, _GONE) else type(error).__name__
        if name not in self._told:
            self._told.add(name)
            _log.warning(
                "streams.redis_trouble", loop=error_state.loop, error=type(error).__name__, message=words(error)
            )

    def clear(self, error_state: "ErrorState") -> None:
        """Tell it, where this was the last."""
        self._in.discard(error_state)
        if not self._in:
            _log.info("streams.redis_answers", loop=error_state.loop)


PROCESS = Outage()
"""Of this process, which has one stream server, whatever the number of its rooms."""


class ErrorState:
    """What goes wrong in one loop: says when it begins, changes and ends, and pauses between the tries."""

    def __init__(
        self, loop: str, limit: float, sleep: Callable[[float], Awaitable[object]], outage: Outage = PROCESS
    ) -> None:
        self.error: Exception | None = None
        self.loop = loop
        self._outage = outage
        self._backoff = Backoff(0.1, limit)
        self._sleep = sleep

    async def record(self, error: Exception) -> None:
        """Tell it, if it is new, and pause."""
        self._outage.record(self, error)
        self.error = error
        await self._sleep(self._backoff.next())

    def clear(self) -> None:
        """Tell it, if there was trouble."""
        if self.error is not None:
            self._outage.clear(self)
            self.error = None
            self._backoff.reset()
