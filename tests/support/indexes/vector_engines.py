"""Every adapter of the vector index, for its contract: opened for a test, and again as another process would.

Qdrant's runs on the client's local mode: docs/reference/qdrant.md says what that does not cover.
"""

import uuid
from array import array
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from qdrant_client import AsyncQdrantClient

from openbrain.adapters.elasticsearch.vectors import ElasticsearchVectors
from openbrain.adapters.qdrant.vectors import QdrantVectors
from openbrain.adapters.qdrant_edge.vectors import QdrantEdgeVectors
from openbrain.domain.access.visibility import AllOf
from openbrain.ports.index import Tombstone, VectorEntry, VectorIndex
from tests.servers.processes.process import Server
from tests.support.indexes.ended_tests import delete_later
from tests.support.indexes.entries import EVERYTHING, direction
from tests.support.processes import made_once

GENERATION = "first"
DIMENSIONS = 4
EAST, NORTH, SOUTH = direction(1, 0, 0, 0), direction(0, 1, 0, 0), direction(0, -1, 0, 0)
INDEXLESS = pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant:UserWarning")


@dataclass
class Engine:
    """How to open this test's index, also a second time as another process would."""

    open: Callable[[], VectorIndex]
    shared: bool
    """Whether several processes may have it open at once."""


@pytest.fixture(params=["qdrant-edge", "qdrant-local", "elasticsearch-knn"])
async def engine(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Engine]:
    first_part = f"test{uuid.uuid4().hex}"
    if request.param == "qdrant-edge":
        # Making a new one is tested in tests/contracts/vectors/qdrant.
        made_once.copy_indexes(monkeypatch.setattr)
        yield Engine(lambda: QdrantEdgeVectors(tmp_path / "vectors"), shared=False)
    elif request.param == "qdrant-local":
        folder = str(tmp_path / "qdrant")
        # Without `force_disable_check_same_thread` the library inspects SQLite with a connection that it leaves open.
        open_folder = partial(AsyncQdrantClient, path=folder, force_disable_check_same_thread=True)
        yield Engine(lambda: QdrantVectors(open_folder, first_part), shared=False)
    else:
        server: Server = request.getfixturevalue("elasticsearch_server")
        yield Engine(lambda: ElasticsearchVectors(server.url, first_part, 10, True, 60), shared=True)
        delete_later(server.url, first_part)


@pytest.fixture
async def index(engine: Engine) -> AsyncIterator[VectorIndex]:
    index = engine.open()
    await index.prepare(GENERATION, DIMENSIONS)
    yield index
    await index.close()


async def write(index: VectorIndex, *entries: VectorEntry | Tombstone) -> None:
    assert await index.write(GENERATION, entries) == {}


async def found(index: VectorIndex, near: "array[float]" = EAST, condition: AllOf = EVERYTHING) -> list[str]:
    return [hit.memory_id for hit in await index.search(GENERATION, near, condition, 100)]


async def found_all(index: VectorIndex, condition: AllOf) -> set[str]:
    """Return all memories that the condition selects."""
    return {hit.memory_id for hit in await index.search(GENERATION, EAST, condition, 5000)}
