"""A bound on work that grows with the table: it may not take the database from everyone else."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from openbrain.domain.errors import TryLater


class Bulkhead:
    """At most `at_once` of this process are inside; who has waited `wait_s` for a place is sent away."""

    def __init__(self, at_once: int, wait_s: float) -> None:
        self._places = asyncio.Semaphore(at_once)
        self._wait_s = wait_s

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Inside. `TryLater` where none was free in time."""
        try:
            async with asyncio.timeout(self._wait_s):
                await self._places.acquire()
        except TimeoutError:
            raise TryLater(
                "the database is searched without an index as often as it bears at once: try again soon, or bring the "
                "indexes back"
            ) from None
        try:
            yield
        finally:
            self._places.release()
