"""The vector generation to search, with the model for its questions: determined together, once per request."""

import asyncio
from dataclasses import dataclass

import structlog

from openbrain.domain.errors import ModelChanged, OpenBrainError, SetupError, TryLater
from openbrain.domain.tasks import cancel
from openbrain.ports.index import Checked
from openbrain.ports.models import Embedder
from openbrain.ports.store.generations import Generation, IndexKind
from openbrain.usecases.indexes.embedders import Embedders
from openbrain_api.recall.indexes.serving import Serving

_WARM = "a question that loads the model"
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A generation and its model."""

    generation: Generation
    embedder: Embedder


class ActiveModel:
    """Follows the serving generation in the database.

    A new model must first be loaded, which may take longer than the time limit of an answer. Meanwhile the previous
    generation, which is still kept current, continues to answer.
    """

    def __init__(self, serving: Serving, embedders: Embedders) -> None:
        self._serving, self._embedders = serving, embedders
        self._now: LoadedModel | None = None
        self._loading: tuple[str, asyncio.Task[LoadedModel]] | None = None

    async def get(self) -> LoadedModel:
        """The generation and model to use. Raise `TryLater` if there is none or its model does not answer, `SetupError`
        if the model is not available."""
        generation = await self._serving.needed(IndexKind.VECTOR)
        if self._now is None or self._now.generation.model == generation.model:
            self._now = LoadedModel(generation, await self._embedders.for_questions(generation))
            return self._now
        return await self._next(generation, self._now)

    async def _next(self, generation: Generation, before: LoadedModel) -> LoadedModel:
        if self._loading is None or self._loading[0] != generation.name:
            if self._loading is not None:
                self._loading[1].cancel()
            task = asyncio.create_task(self._load(generation), name=f"load {generation.model}")
            self._loading = generation.name, task
        task = self._loading[1]
        if not task.done():
            return before
        self._loading = None
        try:
            self._now = task.result()
        except OpenBrainError:
            self._now = None
            raise
        return self._now

    async def _load(self, generation: Generation) -> LoadedModel:
        embedder = await self._embedders.for_questions(generation)
        await embedder.embed_query(_WARM)
        _log.info("api.model_changed", generation=generation.name, model=generation.model)
        return LoadedModel(generation, embedder)

    async def check(self) -> Checked:
        """Check the model of the serving generation; a missing or changed one is a problem."""
        try:
            generation = await self._serving.get(IndexKind.VECTOR)
        except TryLater:  # the database has a check of its own
            generation = None if self._now is None else self._now.generation
        try:
            return await self._embedders.check(generation)
        except (ModelChanged, SetupError) as error:
            return Checked(generation.model_name if generation else "", "", (str(error),))

    async def close(self) -> None:
        """Cancel loading."""
        if self._loading is not None:
            await cancel(self._loading[1])
            self._loading = None
