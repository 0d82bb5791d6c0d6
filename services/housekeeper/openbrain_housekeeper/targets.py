"""What a reindex builds: the next generation of each index, wired."""

from collections.abc import Sequence
from functools import partial

from redis.asyncio import Redis

from openbrain.domain.errors import Conflict
from openbrain.domain.streams import REINDEX as STREAM
from openbrain.ports.generations import Generation, GenerationStatus, IndexKind
from openbrain.ports.operations import Operation
from openbrain.runtime import adapters
from openbrain.runtime.container import Parts
from openbrain.streams.monitoring.gauges import behind
from openbrain.streams.monitoring.waiting import waiting_since
from openbrain.streams.publishing.publisher import Publisher
from openbrain_housekeeper.other_model import MODEL
from openbrain_housekeeper.reindexing import Reindexing, Target


def reindexing(parts: Parts, client: Redis, publisher: Publisher) -> Reindexing:
    """The operation on these parts."""
    stream = parts.settings.streams.prefix + STREAM.name

    async def waiting(groups: Sequence[str]) -> int:
        return await behind(client, stream, groups)

    async def since(groups: Sequence[str]) -> int | None:
        return await waiting_since(client, [(stream, group) for group in groups], parts.clock)

    text = Target(
        index=lambda: parts.text,
        plan=partial(_next_text, parts),
        prepare=lambda generation: parts.text.prepare(generation.name),
    )
    vectors = Target(
        index=lambda: parts.vectors,
        plan=partial(_next_vectors, parts),
        prepare=lambda generation: parts.vectors.prepare(generation.name, generation.dimensions),
    )
    targets = {IndexKind.TEXT: text, IndexKind.VECTOR: vectors}
    return Reindexing(parts.truth, targets, publisher.publish, waiting, since, parts.clock)


async def _next_text(parts: Parts, operation: Operation) -> Generation:
    first = adapters.text_name(parts.settings).removesuffix("-1")
    return Generation(
        kind=IndexKind.TEXT,
        name=f"{first}-{_when(operation)}",
        model="",
        dimensions=0,
        builder=parts.text.builder,
        status=GenerationStatus.BUILDING,
    )


async def _next_vectors(parts: Parts, operation: Operation) -> Generation:
    """By the model that is asked for, else by that of the one that serves."""
    asked = operation.request
    if MODEL in asked:
        return vector_generation(parts, operation, asked[MODEL], asked["model_name"], asked["dimensions"])
    serving = await parts.truth.serving(IndexKind.VECTOR)
    if serving is None:
        raise Conflict("there is no vector index yet: an embedder makes it as soon as its model answers")
    return vector_generation(parts, operation, serving.model, serving.model_name, serving.dimensions)


def vector_generation(parts: Parts, operation: Operation, model: str, name: str, dimensions: int) -> Generation:
    """The one that this operation builds, by this model."""
    return Generation(
        kind=IndexKind.VECTOR,
        name=f"{adapters.vector_name(parts.settings)}-{model}-{_when(operation)}",
        model=model,
        model_name=name,
        dimensions=dimensions,
        builder=parts.vectors.builder,
        status=GenerationStatus.BUILDING,
    )


def _when(operation: Operation) -> str:
    """The milliseconds of its id: names come in the order of their making."""
    return operation.id.replace("-", "")[:12]
