"""Backoff of one loop: growing pauses between attempts, each error logged once."""

from collections.abc import Awaitable, Callable

from openbrain.domain.tasks import Backoff
from openbrain.streams.redis.outage import PROCESS, Link, Outage


class ErrorState:
    """The error state of one loop: logs when errors begin, change and end, and pauses between attempts."""

    def __init__(
        self, loop: str, limit: float, sleep: Callable[[float], Awaitable[object]], outage: Outage = PROCESS
    ) -> None:
        self.error: Exception | None = None
        self._link = Link(loop, outage)
        self._backoff = Backoff(0.1, limit)
        self._sleep = sleep

    async def record(self, error: Exception) -> None:
        """Log the error if it is new, then pause."""
        self._link.failed(error)
        self.error = error
        await self._sleep(self._backoff.next())

    def clear(self) -> None:
        """Log the end of the errors, if there were any."""
        if self.error is not None:
            self._link.answered()
            self.error = None
            self._backoff.reset()
