"""Chooses the models that embed an event: the serving generation's first. Other written generations get separate
events at low priority, so that a slow model that does not serve yet delays nothing.

The written generations are read after the events: a generation created later is filled from the database, including
everything these events are about.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import structlog

from openbrain.domain.errors import ModelChanged, SetupError, TryLater
from openbrain.domain.events.envelope import CloudEvent
from openbrain.domain.events.streams import REINDEX
from openbrain.domain.memory import Change
from openbrain.ports.clock import Clock
from openbrain.ports.models import Embedder, TokenEncoder
from openbrain.ports.store.generations import Generation, GenerationStatus, IndexKind
from openbrain.ports.store.store import Store
from openbrain.usecases.indexes.embedders import Embedders
from openbrain_embedder.handlers.embedding import Failures, embed_known, embed_stored

Events = Sequence[CloudEvent[Any]]
_log = structlog.get_logger(__name__)


class Embedding:
    """Embeds the memories of events, for each written vector generation by its own model."""

    def __init__(
        self, store: Store, embedders: Embedders, clock: Clock, batch: int, tokens: TokenEncoder | None = None
    ) -> None:
        """`batch`: inputs per model call; `tokens` makes token states, if they are wanted."""
        self._tokens = tokens
        self._store, self._embedders, self._clock, self._batch = store, embedders, clock, batch

    async def stored(self, events: Events) -> Failures:
        """Embed; failures by memory. Events without a generation are for the serving one."""
        written = await self._written()
        for_all, by_name = _parted(events)
        failures = dict(await self._serving(for_all, written)) if for_all else {}
        for name, some in by_name.items():
            failures |= await self._beside(some, name, written)
        return failures

    async def known(self, events: Events) -> Failures:
        """Save memories whose vectors are known while a model is unavailable; `TryLater` for those that need it."""
        written = await self._written()
        for_all, by_name = _parted(events)
        failures: dict[str, Exception] = {}
        if for_all:
            failures |= await self._known(for_all, written[0])
            await self._announce(for_all, failures, written)
        for name, some in by_name.items():
            for generation in written:
                if generation.name == name:
                    failures |= await self._known(some, generation)
        return failures

    async def imported(self, events: Events) -> Failures:
        """Like `known`, but use the serving model: on the low-priority stream another model may be the one missing."""
        written = await self._written()
        for_all, by_name = _parted(events)
        failures = dict(await self._serving(for_all, written)) if for_all else {}
        failures |= await self.known([event for some in by_name.values() for event in some])
        return failures

    async def _written(self) -> Sequence[Generation]:
        written = await self._store.generations.written(IndexKind.VECTOR)
        if not written or written[0].status != GenerationStatus.SERVING:
            raise TryLater("no vector index yet: it is made as soon as the model answers")
        return written

    async def _serving(self, events: Events, written: Sequence[Generation]) -> Failures:
        failures: dict[str, Exception] = {}
        for anew in (False, True):
            some = [event for event in events if bool(vars(event.data).get("re_embed")) is anew]
            failures |= await self._embed(some, written[0], anew=anew) if some else {}
        if any(item.status == GenerationStatus.BUILDING for item in written):
            # The serving generation's model is gone. The generation being built by its successor takes these memories,
            # so nothing is retried here.
            failures = {name: error for name, error in failures.items() if not isinstance(error, ModelChanged)}
        await self._announce(events, failures, written)
        return failures

    async def _announce(self, events: Events, failures: Failures, written: Sequence[Generation]) -> None:
        """Announce memories done for the serving generation to the generations of other models, once per model."""
        others = {item.model: item for item in written if item.model != written[0].model}
        ids = [event.data.memory_id for event in events if event.data.change is not Change.DUPLICATE]
        done = [memory_id for memory_id in dict.fromkeys(ids) if memory_id not in failures]
        for generation in others.values() if done else ():
            await self._store.outbox.announce_again(done, generation.name)

    async def _beside(self, events: Events, name: str, written: Sequence[Generation]) -> Failures:
        """Embed for one generation other than the serving one; do nothing if it is no longer written."""
        generation = next((item for item in written if item.name == name), None)
        if generation is None:
            return {}
        anew = [event for event in events if vars(event.data).get("re_embed")]
        ids = {event.data.memory_id for event in events} - {event.data.memory_id for event in anew}
        due = await self._store.expected_entries.by_id(generation, ids)
        lacking = [event for event in events if (row := due.get(event.data.memory_id)) and row.waiting]
        failures: dict[str, Exception] = {}
        for some, again in ((lacking, False), (anew, True)):
            if some:
                failures |= await self._embed(some, generation, anew=again)
        if generation.status == GenerationStatus.KEPT and any(_is_gone(error) for error in failures.values()):
            return await self._keep_no_more(generation, failures)
        return failures

    async def _keep_no_more(self, generation: Generation, failures: Failures) -> Failures:
        """Retire a generation that can no longer be updated, so that nobody rolls back to it."""
        await self._store.generations.retire(generation.kind, generation.name)
        reason = next(str(error) for error in failures.values() if _is_gone(error))
        _log.warning("embedder.kept_no_more", generation=generation.name, message=reason)
        return {name: error for name, error in failures.items() if not _is_gone(error)}

    async def _embed(self, events: Events, generation: Generation, *, anew: bool = False) -> Failures:
        try:
            embedder: Embedder = await self._embedders.ready(generation)
        except (SetupError, TryLater) as error:
            failure = _Gone(str(error)) if isinstance(error, SetupError) else error
            return {event.data.memory_id: failure for event in events}
        return await embed_stored(
            events,
            store=self._store,
            embedder=embedder,
            clock=self._clock,
            batch=self._batch,
            tokens=self._tokens,
            anew=anew,
            given=not anew and _low_priority(events),
        )

    async def _known(self, events: Events, generation: Generation) -> Failures:
        passages_model = self._embedders.for_passages(generation)
        return await embed_known(
            events, store=self._store, embedder=passages_model, model=generation.model, given=_low_priority(events)
        )


class _Gone(TryLater):
    """The model can't be set up any more. The memories are not at fault, so they are retried."""


def _low_priority(events: Events) -> bool:
    """True for events of `memory.reindex`, which also announces imports: only imports come with vectors."""
    return any(event.type == REINDEX.type for event in events)


def _is_gone(error: Exception) -> bool:
    return isinstance(error, ModelChanged | _Gone)


def _parted(events: Events) -> tuple[Events, Mapping[str, list[CloudEvent[Any]]]]:
    """Events without a generation, and the others by generation. `memory.reindex` events for indexers only (with a
    model) are left out."""
    for_all: list[CloudEvent[Any]] = []
    by_name: defaultdict[str, list[CloudEvent[Any]]] = defaultdict(list)
    for event in events:
        # `vars`, because pydantic raises for a missing attribute, which costs more than everything else here.
        fields = vars(event.data)
        if fields.get("model") is not None:
            continue
        name = fields.get("generation")
        (for_all if name is None else by_name[name]).append(event)
    return for_all, by_name
