"""Decides which rows may be announced again, so that rows that are merely queued are not."""

from collections.abc import Awaitable, Callable, Mapping

from openbrain.ports.clock import Clock
from openbrain.ports.store.generations import IndexKind

Oldest = Callable[[], Awaitable[int | None]]
"""Since when the oldest entry waits, in microseconds by our clock; None if nothing waits."""


class QuiescentSince:
    """Finds, for each kind of index, the time up to which everything announced has been taken from the streams.

    A row that changed since then may be on its way. While something that we announced has not been taken, every row
    may be. A new process assumes that another one announced something just before.
    """

    def __init__(self, unpublished_since: Oldest, oldest: Mapping[IndexKind, Oldest], clock: Clock) -> None:
        self._unpublished_since, self._oldest, self._clock = unpublished_since, oldest, clock
        self._announced_at = clock.now()

    async def since(self, kind: IndexKind) -> int:
        """Rows that changed before this time are not on their way; 0 while that is unknown."""
        now = self._clock.now()
        waiting = (await self._unpublished_since(), await self._oldest[kind]())
        # `min`: an entry can't be newer than now, whatever its timestamp says.
        until = min((min(item, now) for item in waiting if item is not None), default=now + 1)
        self._announced_at = min(self._announced_at, now)
        return until if self._announced_at < until else 0

    def announced(self) -> None:
        self._announced_at = self._clock.now()
