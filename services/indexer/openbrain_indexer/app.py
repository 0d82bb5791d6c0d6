"""indexer as two processes: `faststream run openbrain_indexer.app:text` and `…:vector`, or rooms of `openbrain up`."""

from collections.abc import Sequence
from typing import Any

from openbrain.events import MemoryEmbedded, MemoryStored, MemorySuperseded
from openbrain.memory import Change
from openbrain.parts import Parts
from openbrain.ports.generations import IndexKind
from openbrain.rooms import lazy_app, note_failure, room_of
from openbrain.streams.delivery import Delivery, Results
from openbrain.streams.results import per_delivery
from openbrain.streams.room import Room
from openbrain.streams.subscription import Subscription
from openbrain.streams.table import EMBEDDED, REINDEX, STORED, SUPERSEDED
from openbrain_indexer.handlers import project_text, project_vector

BATCHES = 4
"""Indexes are paid by the batch (a commit, a refresh, a request), so that these rooms take more entries at once."""


def text_room(parts: Parts) -> Room:
    """Everything that changes or ends a memory, into the full-text index."""

    async def handle(batch: Sequence[Delivery[MemoryStored | MemorySuperseded]]) -> Results:
        failures = await project_text(
            _changed(batch),
            truth=parts.truth,
            index=parts.text,
            generation=await parts.text_generation(),
            clock=parts.clock,
        )
        return per_delivery(batch, failures)

    on_dead = note_failure(parts, IndexKind.TEXT)
    subscriptions = [
        Subscription(spec=STORED, handler=handle, on_dead=on_dead),
        Subscription(spec=SUPERSEDED, handler=handle, on_dead=on_dead),
        Subscription(spec=REINDEX, handler=handle, on_dead=on_dead, low_priority=True),
    ]
    checks = {"truth": parts.truth.check, "text": parts.text.check}
    return room_of(parts, "indexer-text", subscriptions, checks=checks, prepare=parts.text_generation, batches=BATCHES)


def vector_room(parts: Parts) -> Room:
    """What was embedded and what ended, into the vector index."""

    async def handle(batch: Sequence[Delivery[MemoryEmbedded | MemoryStored | MemorySuperseded]]) -> Results:
        failures = await project_vector(
            _changed(batch),
            truth=parts.truth,
            index=parts.vectors,
            generation=await parts.existing_vector_generation(),
            clock=parts.clock,
        )
        return per_delivery(batch, failures)

    on_dead = note_failure(parts, IndexKind.VECTOR)
    subscriptions = [
        Subscription(spec=EMBEDDED, handler=handle, on_dead=on_dead),
        Subscription(spec=SUPERSEDED, handler=handle, on_dead=on_dead),
        Subscription(spec=REINDEX, handler=handle, on_dead=on_dead, low_priority=True),
    ]
    checks = {"truth": parts.truth.check, "vectors": parts.vectors.check}
    return room_of(
        parts, "indexer-vector", subscriptions, checks=checks, prepare=parts.existing_vector_generation, batches=BATCHES
    )


def _changed(batch: Sequence[Delivery[Any]]) -> list[str]:
    """The memories to project. A duplicate changed nothing: its event is acknowledged unread."""
    return [
        delivery.event.data.memory_id
        for delivery in batch
        if getattr(delivery.event.data, "change", None) is not Change.DUPLICATE
    ]


def __getattr__(name: str) -> Any:
    return lazy_app(name, {"text": text_room, "vector": vector_room})
