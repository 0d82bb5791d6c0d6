"""indexer as two processes: `faststream run openbrain_indexer.app:text` and `…:vector`, or within `openbrain up`."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from openbrain.domain.events.data import MemoryEmbedded, MemoryStored, MemorySuperseded
from openbrain.domain.events.streams import EMBEDDED, REINDEX, STORED, SUPERSEDED
from openbrain.ports.store.generations import Generation, IndexKind
from openbrain.runtime.consumers import consumer_service, lazy_app, note_failure
from openbrain.runtime.container import Container
from openbrain.streams.group.delivery import Delivery, Results
from openbrain.streams.group.subscription import Subscription
from openbrain.streams.handling.results import per_delivery
from openbrain.streams.reading.service import Check, Service
from openbrain.usecases.indexes import index_loss
from openbrain_indexer.handlers.changes import measure_shown, project_changed
from openbrain_indexer.handlers.projection import Failures
from openbrain_indexer.handlers.text import project_text
from openbrain_indexer.handlers.vectors import project_vector

BATCHES = 4
"""Indexes are paid by the batch (a commit, a refresh, a request), so that these services take more entries at once."""


def text_service(container: Container) -> Service:
    """Everything that changes or ends a memory, into the full-text index."""

    async def project(ids: Sequence[str], generations: Sequence[Generation]) -> Failures:
        return await project_text(ids, store=container.store, index=container.text, generations=generations)

    async def handle(batch: Sequence[Delivery[MemoryStored | MemorySuperseded]]) -> Results:
        await container.text_generation()
        failures = await project_changed(batch, container.text_writers, project)
        measure_shown(batch, failures, "text", container.clock.now())
        return per_delivery(batch, failures)

    on_dead = note_failure(container, IndexKind.TEXT)
    # Apart: what is live mostly waits for the index to show it, and a rebuild can be written meanwhile.
    subscriptions = [
        Subscription(spec=STORED, handler=handle, on_dead=on_dead),
        Subscription(spec=SUPERSEDED, handler=handle, on_dead=on_dead),
        Subscription(spec=REINDEX, handler=handle, on_dead=on_dead, low_priority=True, apart=True),
    ]
    checks: Mapping[str, Check] = {
        "truth": container.store.check,
        "text": container.text.check,
        "generations": container.text_writers.check,
        "index": partial(_all_there, container, IndexKind.TEXT),
    }
    return consumer_service(
        container, "indexer-text", subscriptions, checks=checks, prepare=container.text_generation, batches=BATCHES
    )


def vector_service(container: Container) -> Service:
    """The service that writes embedded and ended memories into the vector index."""

    async def project(ids: Sequence[str], generations: Sequence[Generation]) -> Failures:
        return await project_vector(ids, store=container.store, index=container.vectors, generations=generations)

    async def handle(batch: Sequence[Delivery[MemoryEmbedded | MemoryStored | MemorySuperseded]]) -> Results:
        await container.existing_vector_generation()
        failures = await project_changed(batch, container.vector_writers, project)
        measure_shown(batch, failures, "vector", container.clock.now())
        return per_delivery(batch, failures)

    on_dead = note_failure(container, IndexKind.VECTOR)
    subscriptions = [
        Subscription(spec=EMBEDDED, handler=handle, on_dead=on_dead),
        Subscription(spec=SUPERSEDED, handler=handle, on_dead=on_dead),
        Subscription(spec=REINDEX, handler=handle, on_dead=on_dead, low_priority=True, apart=True),
    ]
    checks: Mapping[str, Check] = {
        "truth": container.store.check,
        "vectors": container.vectors.check,
        "generations": container.vector_writers.check,
        "index": partial(_all_there, container, IndexKind.VECTOR),
    }
    return consumer_service(
        container,
        "indexer-vector",
        subscriptions,
        checks=checks,
        prepare=container.existing_vector_generation,
        batches=BATCHES,
    )


async def _all_there(container: Container, kind: IndexKind) -> None:
    index = container.text if kind is IndexKind.TEXT else container.vectors
    await index_loss.all_there(index, index.builder, await container.store.generations.written(kind))


def __getattr__(name: str) -> Any:
    return lazy_app(name, {"text": text_service, "vector": vector_service})
