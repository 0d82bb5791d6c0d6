"""Backoff of one loop: a growing pause between the tries, its error logged once."""

from collections.abc import Awaitable, Callable

from openbrain.domain.tasks import Backoff
from openbrain.streams.redis.outage import PROCESS, Link, Outage


class ErrorState:
    """The errors of one loop: logs when they begin, change and end, and pauses between the tries."""

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
