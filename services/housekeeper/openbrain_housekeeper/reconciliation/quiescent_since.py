"""Rows that may be announced again: nothing that is merely queued."""

from collections.abc import Awaitable, Callable, Mapping

from openbrain.ports.clock import Clock
from openbrain.ports.store.generations import IndexKind

Oldest = Callable[[], Awaitable[int | None]]
"""Since when something waits, microseconds by our clock; None where nothing does."""


class QuiescentSince:
    """Knows, for each kind of index, up to when everything announced has been taken from the streams.

    A row that changed since then may be on its way; so may everything, once we have announced something that is not
    taken yet. A process that has just begun takes it that another announced something just before.
    """

    def __init__(self, unpublished_since: Oldest, oldest: Mapping[IndexKind, Oldest], clock: Clock) -> None:
        self._unpublished_since, self._oldest, self._clock = unpublished_since, oldest, clock
        self._announced_at = clock.now()

    async def since(self, kind: IndexKind) -> int:
        """Rows that changed before this time are not on their way; 0 while nothing can be told."""
        now = self._clock.now()
        waiting = (await self._unpublished_since(), await self._oldest[kind]())
        # Nothing came later than now, whatever its stamp says.
        until = min((min(item, now) for item in waiting if item is not None), default=now + 1)
        self._announced_at = min(self._announced_at, now)
        return until if self._announced_at < until else 0

    def announced(self) -> None:
        self._announced_at = self._clock.now()
