"""Clears caches that may contain something of erased memories."""

import asyncio
from collections.abc import Sequence
from typing import Protocol

from openbrain.domain.caches import Fresh
from openbrain.domain.errors import TryLater
from openbrain.domain.memory import MICROSECONDS
from openbrain.ports.clock import Clock
from openbrain.ports.store.writes import MemoryWrites

IDLE_S = 60.0
"""Seconds without a question after which the caches are cleared."""


class Clearable(Protocol):
    def clear(self) -> None: ...


class ErasureWatch:
    """Clears the caches after an erasure by any replica, and after `idle_s` without questions: erasures are noticed
    only with questions, so the caches must not outlive a pause."""

    def __init__(
        self, writes: MemoryWrites, clock: Clock, caches: Sequence[Clearable], *, idle_s: float = IDLE_S
    ) -> None:
        self._writes, self._clock, self._caches = writes, clock, caches
        self._known = Fresh[str](clock.now, MICROSECONDS)
        self._idle_s = idle_s
        self._idle: asyncio.TimerHandle | None = None

    async def check(self) -> None:
        """Call it for each question. Reads the database at most once a second."""
        if self._idle is not None:
            self._idle.cancel()
        self._idle = asyncio.get_running_loop().call_later(self._idle_s, self.clear)
        if await self._erased():
            self.clear()

    def clear(self) -> None:
        """Clear the caches now, after an erasure by this process."""
        for cache in self._caches:
            cache.clear()

    async def _erased(self) -> bool:
        """True if something was erased since the last look; False if the database does not answer."""
        if self._known.fresh:
            return False
        before, now = self._known.value, self._clock.now()
        try:
            last = self._known.set(await self._writes.last_erasure(), now)
        except TryLater:
            return False
        return before is not None and before != last
