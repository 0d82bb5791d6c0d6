"""Makes background work yield to requests in the same process."""

import asyncio
import time

BUSY_S = 0.0005
"""If a turn of the event loop takes longer, other work is pending."""
STANDS_BACK_S = 0.5
"""Duration of yielding after that: requests mostly wait for a thread or the database, and then continue here."""
PAUSE_S = 0.05
"""Pause between two steps during that time."""


class GivesWay:
    """Await between two steps of a few milliseconds each. Costs nothing if there are no requests; otherwise leaves them
    nearly all of the time."""

    def __init__(self) -> None:
        self._until = 0.0

    async def __call__(self) -> None:
        """Let other tasks run, and pause while there are requests."""
        started = time.perf_counter()
        await asyncio.sleep(0)
        now = time.perf_counter()
        if now - started > BUSY_S:
            self._until = now + STANDS_BACK_S
        if now < self._until:
            await asyncio.sleep(PAUSE_S)
