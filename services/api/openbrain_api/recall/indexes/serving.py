"""Which generations serve, read from the truth at most once a second."""

from openbrain.domain.errors import TryLater
from openbrain.domain.memory import MICROSECONDS
from openbrain.ports.clock import Clock
from openbrain.ports.generations import Generation, Generations, IndexKind
from openbrain.ports.index import Checked, TextIndex, VectorIndex
from openbrain.usecases import index_loss


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


async def examined(index: TextIndex | VectorIndex, serving: Serving, kind: IndexKind) -> Checked:
    """The engine's answer. `TryLater` also where the index that serves is missing, or is not whole."""
    told = await index.check()
    try:
        generation = await serving.get(kind)
    except TryLater:
        return told  # the database's trouble is told under its own name
    if generation is not None and generation.builder == index.builder:
        await index_loss.check(index, generation)
    return told
