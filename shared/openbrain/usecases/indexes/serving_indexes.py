"""The serving index: created if there is none, and checked for the builder of this process."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

import structlog

from openbrain.domain.errors import NeverRetry, SetupError, TryLater
from openbrain.ports.index import TextIndex, VectorIndex
from openbrain.ports.models import ModelIdentity
from openbrain.ports.store.generations import Generation, Generations, IndexKind
from openbrain.usecases.indexes.index_loss import note_loss
from openbrain.usecases.indexes.index_writers import FLAGS

SERVING = "serving"
T = TypeVar("T")
_log = structlog.get_logger(__name__)


async def text_generation(generations: Generations, index: TextIndex, first_name: str) -> Generation:
    """Return the serving full-text generation, ready to be written. `first_name`: its name if there is none yet."""
    wanted = Generation(
        kind=IndexKind.TEXT, name=first_name, model="", dimensions=0, builder=index.builder, status=SERVING
    )
    generation = await generations.ensure(wanted)
    if _same_builder(generation, index.builder):
        await note_loss(generations, index, generation)
        await index.prepare(generation.name)
    return generation


async def noted_vector_generation(
    generations: Generations, builder: str, identity: ModelIdentity, first_name: str, *, alone: bool = False
) -> Generation:
    """Return the serving vector generation. If there is none, record one for this model. The serving generation
    determines the model, not the caller. The index itself is created by the process that writes it.

    `alone`: no other process uses this store, so a generation of another model may be replaced while there are no
    memories.
    """
    wanted = Generation(
        kind=IndexKind.VECTOR,
        name=f"{first_name}-{identity.key}",
        model=identity.key,
        model_name=identity.name,
        dimensions=identity.dimensions,
        builder=builder,
        status=SERVING,
    )
    return await generations.ensure(wanted, replace_unused=alone)


async def existing_vector_generation(generations: Generations, index: VectorIndex) -> Generation:
    """Return the serving generation, for a process that does not know the model; an embedder must have recorded it."""
    generation = await generations.serving(IndexKind.VECTOR)
    if generation is None:
        raise TryLater("no vector index yet: an embedder creates it as soon as its model answers")
    if _same_builder(generation, index.builder):
        await note_loss(generations, index, generation)
        await index.prepare(generation.name, generation.dimensions)
    return generation


def _same_builder(generation: Generation, builder: str) -> bool:
    """An index of another version is left alone: it is searched if possible until a new one is made."""
    if generation.builder == builder:
        return True
    _log.warning(
        "start.other_builder",
        index=generation.name,
        builder=generation.builder,
        ours=builder,
        message=f"build a new index with `openbrain reindex {FLAGS[generation.kind]}`",
    )
    return False


class LazyReady(Generic[T]):
    """A prerequisite of a handler: prepared at start if possible, otherwise on first use."""

    def __init__(self, prepare: Callable[[], Awaitable[T]]) -> None:
        self._prepare = prepare
        self._value: T | None = None
        self._lock = asyncio.Lock()

    async def at_start(self) -> None:
        """Prepare. `SetupError` aborts the start; an unavailable dependency does not."""
        try:
            await self._get()
        except TryLater as error:
            _log.warning("start.dependency_down", message=str(error))

    async def __call__(self) -> T:
        """Return the value. Raise `TryLater` if it is unavailable, also for a wrong setting or a server that refuses,
        because that is not the fault of the entry being processed."""
        try:
            return await self._get()
        except (SetupError, NeverRetry) as error:
            raise TryLater(str(error)) from error

    async def _get(self) -> T:
        async with self._lock:
            if self._value is None:
                self._value = await self._prepare()
            return self._value
