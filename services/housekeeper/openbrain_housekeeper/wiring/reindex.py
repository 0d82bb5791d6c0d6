"""Wires reindexing: the next generation of each index."""

from collections.abc import Sequence
from functools import partial

from redis.asyncio import Redis

from openbrain.domain.errors import Conflict
from openbrain.domain.events.streams import REINDEX as STREAM
from openbrain.ports.store.generations import Generation, GenerationStatus, IndexKind
from openbrain.ports.store.operations import Operation
from openbrain.runtime import adapters
from openbrain.runtime.container import Container
from openbrain.streams.monitoring.gauges import behind
from openbrain.streams.monitoring.oldest_entry import waiting_since
from openbrain.streams.publishing.publisher import Publisher
from openbrain_housekeeper.handlers.reindex import Reindexing, Target
from openbrain_housekeeper.handlers.reindex_request import MODEL


def reindexing(container: Container, client: Redis, publisher: Publisher) -> Reindexing:
    stream = container.settings.streams.prefix + STREAM.name

    async def waiting(groups: Sequence[str]) -> int:
        return await behind(client, stream, groups)

    async def since(groups: Sequence[str]) -> int | None:
        return await waiting_since(client, [(stream, group) for group in groups], container.clock)

    plans = {IndexKind.TEXT: _next_text, IndexKind.VECTOR: _next_vectors}
    targets = {
        kind: Target(partial(container.index, kind), partial(plan, container), container.prepare_index)
        for kind, plan in plans.items()
    }
    return Reindexing(container.store, targets, publisher.publish, waiting, since, container.clock)


async def _next_text(container: Container, operation: Operation) -> Generation:
    first = adapters.text_name(container.settings).removesuffix("-1")
    return Generation(
        kind=IndexKind.TEXT,
        name=f"{first}-{_when(operation)}",
        model="",
        dimensions=0,
        builder=container.text.builder,
        status=GenerationStatus.BUILDING,
    )


async def _next_vectors(container: Container, operation: Operation) -> Generation:
    """With the requested model, or else that of the serving generation."""
    request = operation.request
    if MODEL in request:
        return vector_generation(container, operation, request[MODEL], request["model_name"], request["dimensions"])
    serving = await container.store.generations.serving(IndexKind.VECTOR)
    if serving is None:
        raise Conflict("there is no vector index yet: an embedder makes it as soon as its model answers")
    return vector_generation(container, operation, serving.model, serving.model_name, serving.dimensions)


def vector_generation(container: Container, operation: Operation, model: str, name: str, dimensions: int) -> Generation:
    """The generation that this operation builds with this model."""
    return Generation(
        kind=IndexKind.VECTOR,
        name=f"{adapters.vector_name(container.settings)}-{model}-{_when(operation)}",
        model=model,
        model_name=name,
        dimensions=dimensions,
        builder=container.vectors.builder,
        status=GenerationStatus.BUILDING,
    )


def _when(operation: Operation) -> str:
    """The timestamp part of the operation's id (milliseconds), so that names sort by creation."""
    return operation.id.replace("-", "")[:12]
