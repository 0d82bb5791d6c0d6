"""The serving generations, read from the database at most once a second."""

from openbrain.domain.caches import Fresh
from openbrain.domain.errors import TryLater
from openbrain.domain.memory import MICROSECONDS
from openbrain.ports.clock import Clock
from openbrain.ports.index import Checked, TextIndex, VectorIndex
from openbrain.ports.store.generations import Generation, Generations, IndexKind
from openbrain.usecases.indexes import index_loss


class Serving:
    """Caches the serving generation of each index for a second."""

    def __init__(self, generations: Generations, clock: Clock) -> None:
        self._generations = generations
        self._clock = clock
        self._known = {kind: Fresh[Generation](clock.now, MICROSECONDS) for kind in IndexKind}

    async def get(self, kind: IndexKind) -> Generation | None:
        """The serving generation; None until its indexer has run once."""
        known, now = self._known[kind], self._clock.now()
        if (generation := known.get()) is not None:
            return generation
        generation = await self._generations.serving(kind)
        return None if generation is None else known.set(generation, now)

    async def needed(self, kind: IndexKind) -> Generation:
        """The serving generation. Raise `TryLater` if there is none."""
        if (generation := await self.get(kind)) is None:
            raise TryLater(f"no {kind} index serves yet: start indexer-{kind}")
        return generation


async def examined(index: TextIndex | VectorIndex, serving: Serving, kind: IndexKind) -> Checked:
    """Check an index engine. Raise `TryLater` also if the serving index is missing or incomplete."""
    state = await index.check()
    try:
        generation = await serving.get(kind)
    except TryLater:
        return state  # the database has a check of its own
    if generation is not None and generation.builder == index.builder:
        await index_loss.check(index, generation)
    return state
