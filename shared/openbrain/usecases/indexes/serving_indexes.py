"""The index that serves: made when there is none, checked against what this process would write."""

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
    """The serving full-text generation, ready to be written. `first_name` names it where there is none yet."""
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
    """The serving vector generation; where there is none, the truth notes one of this model, which knows all that an
    index is made by. What serves decides which model is used, not who asks. Who writes the index makes it.

    `alone`: no other process works on this store, so an index of another model may go while there is no memory.
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
    """For a process that does not know the model: the serving generation, once an embedder has made it."""
    generation = await generations.serving(IndexKind.VECTOR)
    if generation is None:
        raise TryLater("no vector index yet: an embedder makes it as soon as its model answers")
    if _same_builder(generation, index.builder):
        await note_loss(generations, index, generation)
        await index.prepare(generation.name, generation.dimensions)
    return generation


def _same_builder(generation: Generation, builder: str) -> bool:
    """Another version's index is left as it is: it answers where it can be read, until a new one is made."""
    if generation.builder == builder:
        return True
    _log.warning(
        "start.other_builder",
        index=generation.name,
        builder=generation.builder,
        ours=builder,
        message=f"make a new index with `openbrain reindex {FLAGS[generation.kind]}`",
    )
    return False


class LazyReady(Generic[T]):
    """Something that must stand before a handler can work: made at start if it can be, else when it is needed."""

    def __init__(self, prepare: Callable[[], Awaitable[T]]) -> None:
        self._prepare = prepare
        self._value: T | None = None
        self._lock = asyncio.Lock()

    async def at_start(self) -> None:
        """`SetupError` ends the start with what to change; a dependency that is down does not."""
        try:
            await self._get()
        except TryLater as error:
            _log.warning("start.dependency_down", message=str(error))

    async def __call__(self) -> T:
        """The value; `TryLater` while it can't be had. A wrong setting, or a server that refuses, is no fault of the
        entry that meets it."""
        try:
            return await self._get()
        except (SetupError, NeverRetry) as error:
            raise TryLater(str(error)) from error

    async def _get(self) -> T:
        async with self._lock:
            if self._value is None:
                self._value = await self._prepare()
            return self._value
