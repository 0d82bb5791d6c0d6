"""Tells which rows may be announced again: none whose event is still queued."""

from collections.abc import Awaitable, Callable, Mapping

from openbrain.ports.clock import Clock
from openbrain.ports.store.generations import IndexKind

Oldest = Callable[[], Awaitable[int | None]]
"""Since when the oldest event waits, microseconds by our clock; None if none waits."""


class QuiescentSince:
    """The time, for each kind of index, up to which everything announced has been taken from the streams.

    The event of a row that changed later may be on its way. While events that we announced again are not taken yet,
    this holds for every row. A new process assumes that another one announced rows just before.
    """

    def __init__(self, unpublished_since: Oldest, oldest: Mapping[IndexKind, Oldest], clock: Clock) -> None:
        self._unpublished_since, self._oldest, self._clock = unpublished_since, oldest, clock
        self._announced_at = clock.now()
        self._published_by: int | None = self._announced_at
        """The time by which every announced event had been published; None while that is unknown."""

    async def since(self, kind: IndexKind) -> int:
        """Events of rows that changed before this time are not on their way. 0 while that is unknown for all rows."""
        now = self._clock.now()
        unpublished = await self._unpublished_since()
        self._announced_at = min(self._announced_at, now)
        if self._published_by is None and (unpublished is None or min(unpublished, now) > self._announced_at):
            self._published_by = self._clock.now()
        oldest = await self._oldest[kind]()
        # No event is newer than now, whatever its timestamp says.
        until = min((min(item, now) for item in (unpublished, oldest) if item is not None), default=now + 1)
        if self._published_by is None:
            return 0
        self._published_by = min(self._published_by, self._clock.now())
        return until if self._published_by <= until else 0

    def announced(self) -> None:
        """Note that events were announced; the relay publishes them later."""
        self._announced_at, self._published_by = self._clock.now(), None
