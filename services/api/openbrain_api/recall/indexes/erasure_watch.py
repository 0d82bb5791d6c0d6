"""Whether something was erased, by whatever replica, read from the truth at most once a second."""

from openbrain.domain.errors import TryLater
from openbrain.domain.memory import MICROSECONDS
from openbrain.ports.clock import Clock
from openbrain.ports.writes import MemoryWrites


class ErasureWatch:
    """Remembers the last one."""

    def __init__(self, writes: MemoryWrites, clock: Clock, *, fresh_s: float = 1.0) -> None:
        self._writes = writes
        self._clock = clock
        self._fresh = int(fresh_s * MICROSECONDS)
        self._known: tuple[int, str] | None = None

    async def changed(self) -> bool:
        """True once after each erasure that came after the first question; False where the truth can't be asked."""
        now, known = self._clock.now(), self._known
        if known is not None and 0 <= now - known[0] < self._fresh:
            return False
        try:
            last = await self._writes.last_erasure()
        except TryLater:
            return False
        self._known = (now, last)
        return known is not None and known[1] != last
