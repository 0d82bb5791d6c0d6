"""Hints to the relay, no more of them than it has use for."""

import asyncio

from openbrain.ports.streams import Wake

PAUSE_S = 0.01
"""A hint costs as much as a write; what is committed within this time after one shares the next."""


class Hints:
    """The first commit after a pause is told at once, and nobody waits for the telling."""

    def __init__(self, wake: Wake) -> None:
        self._wake = wake
        self._task: asyncio.Task[None] | None = None
        self._due = False

    def give(self) -> None:
        """Something was committed."""
        self._due = True
        if self._task is None:
            self._task = asyncio.create_task(self._tell())

    async def close(self) -> None:
        """Give what is due."""
        while self._task is not None:
            await asyncio.wait([self._task])

    async def _tell(self) -> None:
        try:
            while self._due:
                self._due = False
                await self._wake.notify()
                await asyncio.sleep(PAUSE_S)
        finally:
            self._task = None
