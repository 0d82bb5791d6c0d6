"""The embedder service while its model or the vector server is away: on a real stream server, with a real database."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import orjson
import pytest
from qdrant_client import AsyncQdrantClient

from openbrain.adapters.embedding.minilm import MiniLM
from openbrain.adapters.qdrant.vectors import QdrantVectors
from openbrain.adapters.qdrant_edge.vectors import QdrantEdgeVectors
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.errors import TryLater
from openbrain.domain.memory import Memory
from openbrain.ports.store.generations import IndexKind
from openbrain.runtime.container import Container
from openbrain.settings import Settings
from openbrain.usecases.indexes import serving_indexes
from openbrain_embedder.app import service as embedder_room
from tests.support.embedder.handler import Service as Handler
from tests.support.embedder.handler import WithFaults, model, service
from tests.support.streams.consumers import eventually, looking, publish, scaled, started

__all__ = ["model", "service"]

KNOWN = [f"what {number} is about was said before" for number in range(5)]


@pytest.fixture(params=("valkey", "redis"))
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_server").url)


@pytest.fixture
async def container(url: str, tmp_path: Path, store: SqlStore, model: WithFaults) -> AsyncIterator[Container]:
    """The container of a process that has not asked its model yet; another process made the index."""
    streams = scaled(url, batch=8)
    made = Container(Settings(_env_file=None, data_dir=tmp_path, streams=streams.model_dump()), shared=True)
    index = QdrantEdgeVectors(tmp_path / "vectors")
    made.__dict__.update(store=store, embedder=model, vectors=index)
    identity = await MiniLM.identity(model)
    await serving_indexes.noted_vector_generation(store.generations, index.builder, identity, "v")
    await serving_indexes.existing_vector_generation(store.generations, index)
    yield made
    await index.close()


async def _stored(service: Handler, container: Container) -> tuple[list[Memory], list[Memory]]:
    """Put forty memories on the stream; every second one repeats a text that is already embedded."""
    for text in KNOWN:
        await service.embed(await service.add(text))
    await service.announced()
    known, new = [], []
    for number in range(20):
        known.append(await service.add(KNOWN[number % len(KNOWN)]))
        new.append(await service.add(f"number {number} was never said before"))
    entries = await service.store.outbox.take(1000)
    await service.store.outbox.delete([entry.id for entry in entries])
    await publish(container.settings.streams, *(entry.body for entry in entries if entry.stream == "memory.stored"))
    return known, new


@pytest.mark.parametrize("asked_before", [True, False], ids=["asked before", "not yet asked"])
async def test_known_vectors_pass_and_the_others_come_when_the_model_does(
    service: Handler, container: Container, model: WithFaults, asked_before: bool
) -> None:
    known, new = await _stored(service, container)
    if asked_before:
        await container.noted_vector_generation()
    else:
        model.missing = TryLater("the model's server is away")
    model.fault = lambda _: TryLater("the model's server is away")

    async def announced() -> list[str]:
        entries = [entry for entry in await service.store.outbox.take(1000) if entry.stream == "memory.embedded"]
        return [str(orjson.loads(entry.body)["subject"]) for entry in entries]

    async def all_known_are() -> bool:
        return len(await announced()) == len(known)

    async def all_are() -> bool:
        return len(await announced()) == len(known) + len(new)

    async with looking(container.settings.streams) as looks, started(embedder_room(container)):
        await eventually(all_known_are)
        assert sorted(await announced()) == sorted(each.id for each in known)
        assert all([await service.vectors(each) for each in known])

        async def the_others_wait() -> bool:
            return await looks.pending() == len(new)

        await eventually(the_others_wait)

        model.missing, model.fault = None, lambda _: None
        await eventually(all_are)
        await eventually(looks.idle)
        assert sorted((await announced())[len(known) :]) == sorted(each.id for each in new), "each once"
        assert all([await service.vectors(each) for each in new])
        assert (await looks.state(), await looks.dead()) == ({}, [])


@pytest.fixture
async def no_vector_server() -> AsyncIterator[str]:
    """The URL of a server that accepts connections and never answers."""
    silent = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{silent.sockets[0].getsockname()[1]}"
    silent.close()


async def test_the_first_start_of_all_waits_for_no_vector_server(
    url: str, tmp_path: Path, service: Handler, store: SqlStore, model: WithFaults, no_vector_server: str
) -> None:
    """Memories are embedded, and the index is recorded with all its parameters; it is created once its server
    answers."""
    streams, vectors = scaled(url, batch=8).model_dump(), {"url": no_vector_server}
    alone = Container(Settings(_env_file=None, data_dir=tmp_path, streams=streams, vectors=vectors), shared=True)
    alone.__dict__.update(store=store, embedder=model)
    row = await service.add("nothing was said before")
    entries = await store.outbox.take(1000)
    await store.outbox.delete([entry.id for entry in entries])
    await publish(alone.settings.streams, *(entry.body for entry in entries if entry.stream == "memory.stored"))

    async def announced() -> bool:
        return [entry.stream for entry in await store.outbox.take(1000)] == ["memory.embedded"]

    async with looking(alone.settings.streams) as looks, started(embedder_room(alone)):
        await eventually(announced)
        await eventually(looks.idle)
        assert await service.vectors(row)
        assert (await looks.state(), await looks.dead()) == ({}, [])
    noted = await store.generations.serving(IndexKind.VECTOR)
    identity = await MiniLM.identity(model)
    assert noted is not None
    assert (noted.model, noted.dimensions) == (identity.key, identity.dimensions)

    index = QdrantVectors(lambda: AsyncQdrantClient(":memory:"), alone.settings.vectors.collection)
    made = await serving_indexes.existing_vector_generation(store.generations, index)
    assert made == noted
    assert await index.exists(noted.name)
    await index.close()
    await alone.vectors.close()
