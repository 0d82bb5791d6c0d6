"""indexer as two processes: `faststream run openbrain_indexer.app:text` and `…:vector`, or rooms of `openbrain up`."""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from openbrain.domain.events import MemoryEmbedded, MemoryStored, MemorySuperseded
from openbrain.domain.memory import Change
from openbrain.domain.streams import EMBEDDED, REINDEX, STORED, SUPERSEDED
from openbrain.ports.generations import Generation, IndexKind
from openbrain.runtime.consumers import lazy_app, note_failure, room_of
from openbrain.runtime.container import Parts
from openbrain.streams.group.delivery import Delivery, Results
from openbrain.streams.group.subscription import Subscription
from openbrain.streams.handling.results import per_delivery
from openbrain.streams.reading.service import Check, Room
from openbrain.usecases import index_loss
from openbrain.usecases.index_writers import Written, everywhere
from openbrain_indexer.handlers import Failures, project_text, project_vector

BATCHES = 4
"""Indexes are paid by the batch (a commit, a refresh, a request), so that these rooms take more entries at once."""


def text_room(parts: Parts) -> Room:
    """Everything that changes or ends a memory, into the full-text index."""

    async def project(ids: Sequence[str], generations: Sequence[Generation]) -> Failures:
        return await project_text(ids, truth=parts.truth, index=parts.text, generations=generations)

    async def handle(batch: Sequence[Delivery[MemoryStored | MemorySuperseded]]) -> Results:
        await parts.text_generation()
        return per_delivery(batch, await _projected(batch, parts.text_written, project))

    on_dead = note_failure(parts, IndexKind.TEXT)
    # Apart: what is live mostly waits for the index to show it, and a rebuild can be written meanwhile.
    subscriptions = [
        Subscription(spec=STORED, handler=handle, on_dead=on_dead),
        Subscription(spec=SUPERSEDED, handler=handle, on_dead=on_dead),
        Subscription(spec=REINDEX, handler=handle, on_dead=on_dead, low_priority=True, apart=True),
    ]
    checks: Mapping[str, Check] = {
        "truth": parts.truth.check,
        "text": parts.text.check,
        "generations": parts.text_written.check,
        "index": partial(_all_there, parts, IndexKind.TEXT),
    }
    return room_of(parts, "indexer-text", subscriptions, checks=checks, prepare=parts.text_generation, batches=BATCHES)


def vector_room(parts: Parts) -> Room:
    """What was embedded and what ended, into the vector index."""

    async def project(ids: Sequence[str], generations: Sequence[Generation]) -> Failures:
        return await project_vector(ids, truth=parts.truth, index=parts.vectors, generations=generations)

    async def handle(batch: Sequence[Delivery[MemoryEmbedded | MemoryStored | MemorySuperseded]]) -> Results:
        await parts.existing_vector_generation()
        return per_delivery(batch, await _projected(batch, parts.vector_written, project))

    on_dead = note_failure(parts, IndexKind.VECTOR)
    subscriptions = [
        Subscription(spec=EMBEDDED, handler=handle, on_dead=on_dead),
        Subscription(spec=SUPERSEDED, handler=handle, on_dead=on_dead),
        Subscription(spec=REINDEX, handler=handle, on_dead=on_dead, low_priority=True, apart=True),
    ]
    checks: Mapping[str, Check] = {
        "truth": parts.truth.check,
        "vectors": parts.vectors.check,
        "generations": parts.vector_written.check,
        "index": partial(_all_there, parts, IndexKind.VECTOR),
    }
    return room_of(
        parts, "indexer-vector", subscriptions, checks=checks, prepare=parts.existing_vector_generation, batches=BATCHES
    )


async def _all_there(parts: Parts, kind: IndexKind) -> None:
    index = parts.text if kind is IndexKind.TEXT else parts.vectors
    await index_loss.all_there(index, index.builder, await parts.truth.written(kind))


async def _projected(
    batch: Sequence[Delivery[Any]],
    written: Written,
    project: Callable[[Sequence[str], Sequence[Generation]], Awaitable[Failures]],
) -> Failures:
    """Each memory into the generations that its event is about: all, those of a model, or the one it names."""
    failures: dict[str, Exception] = {}
    for (name, model), ids in _changed(batch).items():

        async def write(generations: Sequence[Generation], ids: Sequence[str] = ids) -> None:
            failures.update(await project(ids, generations))

        def wanted(each: Generation, name: str | None = name, model: str | None = model) -> bool:
            return name in (None, each.name) and model in (None, each.model)

        await everywhere(written, write, wanted)
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
    return lazy_app(name, {"text": text_room, "vector": vector_room})
