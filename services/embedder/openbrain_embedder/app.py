"""embedder as a process: `faststream run openbrain_embedder.app:app`, or a service of `openbrain up`."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from openbrain.domain.events.data import MemoryStored
from openbrain.domain.events.streams import REINDEX, STORED
from openbrain.ports.store.generations import IndexKind
from openbrain.runtime.consumers import consumer_service, lazy_app, note_failure
from openbrain.runtime.container import Container
from openbrain.streams.group.delivery import Delivery, Handler, Results, per_delivery
from openbrain.streams.group.subscription import Subscription
from openbrain.streams.reading.service import Service
from openbrain_embedder.handlers.embedding import Failures
from openbrain_embedder.handlers.memory_stored import Embedding, Events


def service(container: Container) -> Service:
    """Consume stored memories, and `memory.reindex` events while no live ones wait.

    Work for a generation other than the serving one arrives as `memory.reindex`, read apart from live events, because
    its model may be slow or unreachable.
    """

    def embedding() -> Embedding:
        batch = container.settings.embedding.batch
        return Embedding(container.store, container.embedders, container.clock, batch, container.token_encoder)

    def handler(work: Callable[[Embedding, Events], Awaitable[Failures]], *, makes: bool) -> Handler[MemoryStored]:
        async def handle(batch: Sequence[Delivery[MemoryStored]]) -> Results:
            if makes:
                await container.noted_vector_generation()
            failures = await work(embedding(), [delivery.event for delivery in batch])
            if len(failures) < len(batch):
                await container.wake.notify()
            return per_delivery(batch, failures)

        return handle

    async def model_answers() -> object:
        return await container.embedders.check(await container.store.generations.serving(IndexKind.VECTOR))

    note = note_failure(container, IndexKind.VECTOR)
    handle = handler(Embedding.stored, makes=True)
    known, imported = handler(Embedding.known, makes=False), handler(Embedding.imported, makes=False)
    subscriptions = [
        Subscription(spec=STORED, handler=handle, degraded_handler=known, on_dead=note),
        Subscription(
            spec=REINDEX, handler=handle, degraded_handler=imported, on_dead=note, low_priority=True, isolated=True
        ),
    ]
    checks = {"embedder": model_answers}
    return consumer_service(
        container, "embedder", subscriptions, checks=checks, prepare=container.noted_vector_generation.at_start
    )


def __getattr__(name: str) -> Any:
    return lazy_app(name, {"app": service})
