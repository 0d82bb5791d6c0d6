"""The lane of what may wait: imports and large batches get a share of the commits, and never the first."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

T = TypeVar("T")

GROUP = 100
"""Rows of one transaction: who comes while it runs waits that long, some milliseconds."""
LIVE_FIRST = 4
"""Commits of single requests that pass before one that may wait, while they keep coming."""


class Live(Protocol):
    """The writes of single requests."""

    @property
    def pressing(self) -> bool:
        """Whether one waits or is being committed."""

    async def next_commit(self) -> None:
        """Returns when a commit has ended."""


class BulkLane:
    """One transaction at a time."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._turn = asyncio.Lock()

    async def run(self, commit: Callable[[], Awaitable[T]]) -> T:
        """Commit when it is our turn."""
        async with self._turn:
            passed = 0
            while self._live.pressing and passed < LIVE_FIRST:
                await self._live.next_commit()
                passed += 1
            return await commit()
