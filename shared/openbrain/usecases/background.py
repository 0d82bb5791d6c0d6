"""Work that nobody waits for stands back behind what somebody waits for, in the same process."""

import asyncio
import time

BUSY_S = 0.0005
"""A turn of the event loop that takes longer had something else to do."""
STANDS_BACK_S = 0.5
"""For so long after that: what is asked is mostly away in a thread or a database, and comes back."""
PAUSE_S = 0.05
"""Between two pieces meanwhile."""


class GivesWay:
    """Called between two pieces of a few milliseconds. Alone it costs nothing; beside questions it leaves them nearly
    all of the time."""

    def __init__(self) -> None:
        self._until = 0.0

    async def __call__(self) -> None:
        """Let everything else have a turn."""
        started = time.perf_counter()
        await asyncio.sleep(0)
        now = time.perf_counter()
        if now - started > BUSY_S:
            self._until = now + STANDS_BACK_S
        if now < self._until:
            await asyncio.sleep(PAUSE_S)
