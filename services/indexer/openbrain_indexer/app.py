"""indexer as two processes: `faststream run openbrain_indexer.app:text` and `…:vector`, or within `openbrain up`."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from openbrain.domain.errors import TryLater
from openbrain.domain.events.data import MemoryEmbedded, MemoryStored, MemorySuperseded
from openbrain.domain.events.streams import EMBEDDED, REINDEX, STORED, SUPERSEDED, StreamSpec
from openbrain.ports.index import TextIndex, VectorIndex
from openbrain.ports.store.generations import Generation, IndexKind
from openbrain.runtime.consumers import consumer_service, lazy_app, note_failure
from openbrain.runtime.container import Container
from openbrain.streams.group.delivery import Delivery, Results, per_delivery
from openbrain.streams.group.subscription import Subscription
from openbrain.streams.reading.service import Check, Service
from openbrain.usecases.indexes import index_loss
from openbrain.usecases.indexes.index_writers import WritableIndexes
from openbrain.usecases.indexes.serving_indexes import LazyReady
from openbrain_indexer.handlers.changes import measure_shown, project_changed
from openbrain_indexer.handlers.projection import Failures
from openbrain_indexer.handlers.text import project_text
from openbrain_indexer.handlers.vectors import project_vector

BATCHES = 4
"""Multiple of the usual batch size: an index has a fixed cost per write (commit, refresh, request)."""


def text_service(container: Container) -> Service:
    """The service that writes every change and end of a memory into the full-text index."""
    return _service(
        container,
        IndexKind.TEXT,
        "text",
        live=(STORED, SUPERSEDED),
        index=container.text,
        generation=container.text_generation,
        writers=container.text_writers,
        project=partial(project_text, store=container.store, index=container.text),
    )


def vector_service(container: Container) -> Service:
    """The service that writes embedded and ended memories into the vector index."""
    return _service(
        container,
        IndexKind.VECTOR,
        "vectors",
        live=(EMBEDDED, SUPERSEDED),
        index=container.vectors,
        generation=container.existing_vector_generation,
        writers=container.vector_writers,
        project=partial(project_vector, store=container.store, index=container.vectors),
    )


def _service(
    container: Container,
    kind: IndexKind,
    check: str,
    *,
    live: Sequence[StreamSpec],
    index: TextIndex | VectorIndex,
    generation: LazyReady[Generation],
    writers: WritableIndexes,
    project: Callable[[Sequence[str], Sequence[Generation]], Awaitable[Failures]],
) -> Service:
    """The service that writes one index. `check`: the index's name in /ready."""

    async def handle(batch: Sequence[Delivery[MemoryEmbedded | MemoryStored | MemorySuperseded]]) -> Results:
        await generation()
        failures = await project_changed(batch, writers, project)
        measure_shown(batch, failures, kind.value, container.clock.now())
        return per_delivery(batch, failures)

    async def all_there() -> None:
        await index_loss.all_there(index, index.builder, await container.store.generations.written(kind))

    async def prepare() -> None:
        await generation.at_start()
        # Kept ones too: an embedded index can't be read before it is open, and the first write may be hours away.
        with suppress(TryLater):
            await writers.get()

    on_dead = note_failure(container, kind)
    checks: Mapping[str, Check] = {check: index.check, "generations": writers.check, "index": all_there}
    # Isolated: live events mostly wait for a refresh of the index, and a rebuild can write meanwhile.
    rebuild = Subscription(spec=REINDEX, handler=handle, on_dead=on_dead, low_priority=True, isolated=True)
    subscriptions = [*(Subscription(spec=spec, handler=handle, on_dead=on_dead) for spec in live), rebuild]
    return consumer_service(
        container, f"indexer-{kind.value}", subscriptions, checks=checks, prepare=prepare, batches=BATCHES
    )


def __getattr__(name: str) -> Any:
    return lazy_app(name, {"text": text_service, "vector": vector_service})
