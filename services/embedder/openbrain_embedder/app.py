"""embedder as a process: `faststream run openbrain_embedder.app:app`, or a room of `openbrain up`."""

from collections.abc import Sequence
from typing import Any

from openbrain.errors import TryLater
from openbrain.events import MemoryStored
from openbrain.parts import Parts
from openbrain.ports.generations import IndexKind
from openbrain.rooms import lazy_app, note_failure, room_of
from openbrain.streams.delivery import Delivery, Results
from openbrain.streams.results import per_delivery
from openbrain.streams.room import Room
from openbrain.streams.subscription import Subscription
from openbrain.streams.table import REINDEX, STORED
from openbrain_embedder.handlers import embed_known, embed_stored


def room(parts: Parts) -> Room:
    """Stored memories, and reindexing while nothing live waits."""

    async def handle(batch: Sequence[Delivery[MemoryStored]]) -> Results:
        await parts.vector_generation()
        failures = await embed_stored(
            [delivery.event for delivery in batch],
            truth=parts.truth,
            embedder=parts.embedder,
            clock=parts.clock,
            batch=parts.settings.embedding.batch,
        )
        await parts.wake.notify()
        return per_delivery(batch, failures)

    async def handle_known(batch: Sequence[Delivery[MemoryStored]]) -> Results:
        serving = await parts.truth.serving(IndexKind.VECTOR)
        if serving is None:
            raise TryLater("no vector index yet: it is made as soon as the model answers")
        failures = await embed_known(
            [delivery.event for delivery in batch],
            truth=parts.truth,
            embedder=parts.embedder,
            clock=parts.clock,
            model=serving.model,
        )
        if len(failures) < len(batch):
            await parts.wake.notify()
        return per_delivery(batch, failures)

    on_dead = note_failure(parts, IndexKind.VECTOR)
    subscriptions = [
        Subscription(spec=STORED, handler=handle, without=handle_known, on_dead=on_dead),
        Subscription(spec=REINDEX, handler=handle, without=handle_known, on_dead=on_dead, low_priority=True),
    ]
    checks = {"truth": parts.truth.check, "embedder": parts.embedder.check}
    return room_of(parts, "embedder", subscriptions, checks=checks, prepare=parts.vector_generation)


def __getattr__(name: str) -> Any:
    return lazy_app(name, {"app": room})
