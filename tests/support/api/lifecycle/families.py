"""A brain on each pair of indexes, and the housekeeper's jobs in separate processes on the same database."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from qdrant_client import AsyncQdrantClient

from openbrain.adapters.elasticsearch.text import ElasticsearchText
from openbrain.adapters.elasticsearch.vectors import ElasticsearchVectors
from openbrain.adapters.qdrant.vectors import QdrantVectors
from openbrain.adapters.qdrant_edge.vectors import QdrantEdgeVectors
from openbrain.ports.index import VectorIndex
from openbrain.ports.store.generations import IndexKind
from openbrain_housekeeper.reconciliation.comparison import ComparisonOptions
from openbrain_housekeeper.reconciliation.quiescent_since import QuiescentSince
from openbrain_housekeeper.reconciliation.verification import Indexes, Verification, Verifier
from tests.servers.mariadb_server import DATABASE
from tests.support.api.brain import Brain, open_brain
from tests.support.processes.forked import context
from tests.support.store.fixtures import age_holds
from tests.support.store.killed_worker import work
from tests.support.store.mariadb import MariadbTables

EMBEDDED, QDRANT, ELASTICSEARCH = "embedded", "elasticsearch and qdrant-local", "elasticsearch"
"""embedded: SQLite, tantivy, qdrant-edge. The others: MariaDB, Elasticsearch, and vectors in Elasticsearch or in
Qdrant's local mode."""
ON_SERVERS = pytest.mark.servers("mariadb", "elasticsearch")
ON_ELASTICSEARCH, ON_QDRANT = (pytest.param(each, marks=ON_SERVERS) for each in (ELASTICSEARCH, QDRANT))
_KILLED = -9


@dataclass
class Family:
    """`elsewhere`: the settings with which another process opens the same parts."""

    brain: Brain
    folder: Path
    elsewhere: Mapping[str, Any]
    open_vectors: Callable[[], VectorIndex]
    shared: bool
    """Whether several processes may have its vector index open at once."""

    async def verified(self) -> dict[str, Any]:
        """Return the report of `openbrain verify --full`."""
        brain = self.brain

        async def nothing_waits() -> None:
            return None

        quiescent = QuiescentSince(nothing_waits, dict.fromkeys(IndexKind, nothing_waits), brain.clock)
        indexes: Indexes = {IndexKind.TEXT: lambda: brain.text, IndexKind.VECTOR: lambda: brain.vectors}
        verifier = Verifier(brain.store, indexes, quiescent, brain.clock, ComparisonOptions())
        brain.clock.advance(10**6)
        run = Verification(verifier, ComparisonOptions(full=True, patient=False, grace=0))
        async for _ in run.pieces():
            pass
        return run.summary()

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[None]:
        """Close the embedded vector index while the block runs, so that another process may open it."""
        await self.brain.vectors.close()
        yield
        self.brain.vectors = self.open_vectors()

    async def worked(self, *points: str) -> list[int]:
        """Run housekeepers in parallel, one for each point: it is killed at that point ('': it runs until all is done).
        Return their exit statuses. Meanwhile leases expire early, so that they take them from each other."""
        marks = [[{"room": "lifecycle", "point": each, "nth": 1, "action": "kill"}] if each else [] for each in points]
        shared = self.folder, self.elsewhere, self.brain.clock.now()
        processes = [context().Process(target=work, args=(*shared, each), daemon=True) for each in marks]
        for process in processes:
            process.start()
        while any(process.is_alive() for process in processes):
            await asyncio.sleep(0.02)
            await age_holds(self.brain.store, 30)
        return [process.exitcode or 0 for process in processes]

    async def killed(self, points: Sequence[str], done: Callable[[], Any]) -> int:
        """Run housekeepers one after the other, each killed at the next point, until the work is done. Return the
        number of kills."""
        kills = 0
        while not await done():
            (status,) = await self.worked(points[kills % len(points)])
            assert status in (0, _KILLED)
            kills += status == _KILLED
        return kills


@asynccontextmanager
async def open_family(kind: str, request: pytest.FixtureRequest) -> AsyncIterator[Family]:
    folders: pytest.TempPathFactory = request.getfixturevalue("tmp_path_factory")
    folder = folders.mktemp("family")
    if kind == EMBEDDED:
        url = f"sqlite+aiosqlite:///{folder}/truth.db"
        edge: Callable[[], VectorIndex] = lambda: QdrantEdgeVectors(folder / "vectors")  # noqa: E731
        async with open_brain(url, folder, folders, vectors=edge()) as brain:
            yield Family(brain, folder, {"truth": {"url": url}}, edge, shared=False)
            await brain.vectors.close()
        return
    server, name = request.getfixturevalue("elasticsearch_server").url, f"t{uuid.uuid4().hex[:12]}"
    tables = MariadbTables(request.getfixturevalue("mariadb_server"), f"{DATABASE}_{name}")
    elsewhere = {"truth": {"url": tables.url}, "vectors": {"url": f"elasticsearch+{server}", "collection": name}}
    elsewhere["streams"] = {"prefix": ""}
    text = ElasticsearchText(server, name, 10, True, 60)
    made: Callable[[], VectorIndex] = (
        (lambda: QdrantVectors(lambda: AsyncQdrantClient(":memory:"), name))
        if kind == QDRANT
        else (lambda: ElasticsearchVectors(server, name, 10, True, 60))
    )
    try:
        async with open_brain(tables.url, folder, folders, text=text, vectors=made()) as brain:
            yield Family(brain, folder, elsewhere, made, shared=True)
            await brain.vectors.close()
    finally:
        # In a thread: writes that the API does after its answers must end first, or their locks keep the tables.
        await asyncio.to_thread(tables.drop)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def family(request: pytest.FixtureRequest) -> AsyncIterator[Family]:
    """The family that the parameter names."""
    async with open_family(request.param, request) as made:
        yield made
