"""Whether something was erased, by whatever replica, read from the truth at most once a second."""

from openbrain.domain.caches import Fresh
from openbrain.domain.errors import TryLater
from openbrain.domain.memory import MICROSECONDS
from openbrain.ports.clock import Clock
from openbrain.ports.store.writes import MemoryWrites


class ErasureWatch:
    """Remembers the last one."""

    def __init__(self, writes: MemoryWrites, clock: Clock, *, fresh_s: float = 1.0) -> None:
        self._writes = writes
        self._clock = clock
        self._known = Fresh[str](clock.now, fresh_s * MICROSECONDS)

    async def changed(self) -> bool:
        """True once after each erasure that came after the first question; False where the truth can't be asked."""
        if self._known.fresh:
            return False
        before, now = self._known.value, self._clock.now()
        try:
            last = self._known.set(await self._writes.last_erasure(), now)
        except TryLater:
            return False
        return before is not None and before != last
