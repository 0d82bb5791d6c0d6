"""Limits work whose cost grows with the table, so that it does not slow down everyone else's use of the database."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from openbrain.domain.errors import TryLater


class Bulkhead:
    """At most `at_once` tasks of this process are inside; a task that has waited `wait_s` for a place gets an error."""

    def __init__(self, at_once: int, wait_s: float) -> None:
        self._places = asyncio.Semaphore(at_once)
        self._wait_s = wait_s

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Enter. Raise `TryLater` if no place became free in time."""
        try:
            async with asyncio.timeout(self._wait_s):
                await self._places.acquire()
        except TimeoutError:
            raise TryLater(
                "too many searches without an index are running on the database: try again soon, or bring the "
                "indexes back"
            ) from None
        try:
            yield
        finally:
            self._places.release()
