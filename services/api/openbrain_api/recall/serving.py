"""Which generations serve, read from the truth at most once a second."""

from openbrain.memory import MICROSECONDS
from openbrain.ports.clock import Clock
from openbrain.ports.generations import Generation, Generations, IndexKind


class Serving:
    """Remembers the answer for `fresh_s`."""

    def __init__(self, generations: Generations, clock: Clock, *, fresh_s: float = 1.0) -> None:
        self._generations = generations
        self._clock = clock
        self._fresh = int(fresh_s * MICROSECONDS)
        self._known: dict[IndexKind, tuple[int, Generation]] = {}

    async def get(self, kind: IndexKind) -> Generation | None:
        """The serving generation, name and model together; None until its indexer has run once."""
        now = self._clock.now()
        known = self._known.get(kind)
        if known is not None and 0 <= now - known[0] < self._fresh:
            return known[1]
        generation = await self._generations.serving(kind)
        if generation is not None:
            self._known[kind] = (now, generation)
        return generation
