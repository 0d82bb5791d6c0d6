"""indexer as two processes: `faststream run openbrain_indexer.app:text` and `…:vector`, or within `openbrain up`."""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from openbrain.domain.events import MemoryEmbedded, MemoryStored, MemorySuperseded
from openbrain.domain.memory import Change
from openbrain.domain.streams import EMBEDDED, REINDEX, STORED, SUPERSEDED
from openbrain.ports.generations import Generation, IndexKind
from openbrain.runtime.consumers import consumer_service, lazy_app, note_failure
from openbrain.runtime.container import Container
from openbrain.streams.group.delivery import Delivery, Results
from openbrain.streams.group.subscription import Subscription
from openbrain.streams.handling.results import per_delivery
from openbrain.streams.reading.service import Check, Service
from openbrain.usecases import index_loss
from openbrain.usecases.index_writers import WritableIndexes, write_to_all
from openbrain_indexer.handlers import Failures, project_text, project_vector

BATCHES = 4
"""Indexes are paid by the batch (a commit, a refresh, a request), so that these services take more entries at once."""


def text_service(container: Container) -> Service:
    """Everything that changes or ends a memory, into the full-text index."""

    async def project(ids: Sequence[str], generations: Sequence[Generation]) -> Failures:
        return await project_text(ids, truth=container.truth, index=container.text, generations=generations)

    async def handle(batch: Sequence[Delivery[MemoryStored | MemorySuperseded]]) -> Results:
        await container.text_generation()
        return per_delivery(batch, await _projected(batch, container.text_writers, project))

    on_dead = note_failure(container, IndexKind.TEXT)
    # Apart: what is live mostly waits for the index to show it, and a rebuild can be written meanwhile.
    subscriptions = [
        Subscription(spec=STORED, handler=handle, on_dead=on_dead),
        Subscription(spec=SUPERSEDED, handler=handle, on_dead=on_dead),
        Subscription(spec=REINDEX, handler=handle, on_dead=on_dead, low_priority=True, apart=True),
    ]
    checks: Mapping[str, Check] = {
        "truth": container.truth.check,
        "text": container.text.check,
        "generations": container.text_writers.check,
        "index": partial(_all_there, container, IndexKind.TEXT),
    }
    return consumer_service(
        container, "indexer-text", subscriptions, checks=checks, prepare=container.text_generation, batches=BATCHES
    )


def vector_service(container: Container) -> Service:
    """What was embedded and what ended, into the vector index."""

    async def project(ids: Sequence[str], generations: Sequence[Generation]) -> Failures:
        return await project_vector(ids, truth=container.truth, index=container.vectors, generations=generations)

    async def handle(batch: Sequence[Delivery[MemoryEmbedded | MemoryStored | MemorySuperseded]]) -> Results:
        await container.existing_vector_generation()
        return per_delivery(batch, await _projected(batch, container.vector_writers, project))

    on_dead = note_failure(container, IndexKind.VECTOR)
    subscriptions = [
        Subscription(spec=EMBEDDED, handler=handle, on_dead=on_dead),
        Subscription(spec=SUPERSEDED, handler=handle, on_dead=on_dead),
        Subscription(spec=REINDEX, handler=handle, on_dead=on_dead, low_priority=True, apart=True),
    ]
    checks: Mapping[str, Check] = {
        "truth": container.truth.check,
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
    await index_loss.all_there(index, index.builder, await container.truth.written(kind))


async def _projected(
    batch: Sequence[Delivery[Any]],
    written: WritableIndexes,
    project: Callable[[Sequence[str], Sequence[Generation]], Awaitable[Failures]],
) -> Failures:
    """Each memory into the generations that its event is about: all, those of a model, or the one it names."""
    failures: dict[str, Exception] = {}
    for (name, model), ids in _changed(batch).items():

        async def write(generations: Sequence[Generation], ids: Sequence[str] = ids) -> None:
            failures.update(await project(ids, generations))

        def wanted(each: Generation, name: str | None = name, model: str | None = model) -> bool:
            return name in (None, each.name) and model in (None, each.model)

        await write_to_all(written, write, wanted)
    return failures


def _changed(batch: Sequence[Delivery[Any]]) -> Mapping[tuple[str | None, str | None], list[str]]:
    """The memories to project, by the generation and the model that their events name. A duplicate changed nothing:
    its event is acknowledged unread."""
    found: defaultdict[tuple[str | None, str | None], list[str]] = defaultdict(list)
    for delivery in batch:
        # Of what an event does not have, pydantic says so by an error, which takes longer than all else here.
        told = vars(delivery.event.data)
        if told.get("change") is not Change.DUPLICATE:
            found[told.get("generation"), told.get("model")].append(told["memory_id"])
    return found


def __getattr__(name: str) -> Any:
    return lazy_app(name, {"text": text_service, "vector": vector_service})
