"""Background tasks: the pauses between their tries, and their end."""

import asyncio
import random
from collections.abc import Callable
from typing import Any

_REPEATED_S = 5.0
"""Long enough for what a task has to clean up: a second cancellation would interrupt that."""
_TIMES = 2


async def cancel(*tasks: asyncio.Task[Any] | None) -> None:
    """Cancel tasks and wait for their end, whatever their outcome; at most 10 s, for code that refuses to end.

    Python 3.11 can lose a cancellation that meets the end of an inner wait: it is repeated after 5 s.
    """
    pending = {task for task in tasks if task is not None}
    for _ in range(_TIMES):
        for task in pending:
            task.cancel()
        if pending:
            ended, pending = await asyncio.wait(pending, timeout=_REPEATED_S)
            await asyncio.gather(*ended, return_exceptions=True)


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
