"""A complete OpenBrain in the test's process: the API on a real database, real embedded indexes and the real small
model.

`Brain.settle` does what the services do between a write and its being indexed, with the services' own handlers.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from starlette.applications import Starlette

from openbrain.adapters.embedding.minilm import MiniLM
from openbrain.adapters.local.rates import LocalRates
from openbrain.adapters.local.wake import LocalWake
from openbrain.adapters.sql.engine.opening import open_database
from openbrain.adapters.sql.store import SqlStore
from openbrain.client import OpenBrain
from openbrain.domain.access.permissions import Permission
from openbrain.domain.events import data as events
from openbrain.domain.events.envelope import CloudEvent, decode, event_type
from openbrain.domain.ids import uuid7
from openbrain.ports.index import TextIndex, VectorIndex
from openbrain.ports.models import Embedder
from openbrain.ports.store.generations import Generation
from openbrain.ports.store.tenants import Workspace
from openbrain.runtime.container import Container
from openbrain.settings import Settings, Streams
from openbrain.streams.operating.administration import RedisStreams
from openbrain.streams.publishing.broadcast_reader import RedisBroadcastStream
from openbrain.usecases.auth import hash_secret, issue
from openbrain.usecases.backpressure import Pressure
from openbrain.usecases.content.policy import DetectingPolicy
from openbrain.usecases.indexes import serving_indexes
from openbrain.usecases.indexes.embedders import Embedders
from openbrain_api.app import api
from openbrain_embedder.handlers.embedding import embed_stored
from openbrain_indexer.handlers.text import project_text
from openbrain_indexer.handlers.vectors import project_vector
from tests.support.api.lent_vectors import LentVectors
from tests.support.store.empty_store import copy_tables, keep_tables
from tests.support.store.fixtures import FakeClock, rows
from tests.support.store.schema import make_tables
from tests.support.waiting import PATIENCE_S

MODELS: Mapping[str, type[CloudEvent[Any]]] = {
    "memory.stored": CloudEvent[events.MemoryStored],
    "memory.reindex": CloudEvent[events.MemoryReindex],
    "memory.embedded": CloudEvent[events.MemoryEmbedded],
    "memory.superseded": CloudEvent[events.MemorySuperseded],
}
NOWHERE = "redis://127.0.0.1:9/0"
_MODEL: list[MiniLM] = []


def small_model() -> MiniLM:
    """Return one model shared by the whole run: loading it takes longer than most tests."""
    if not _MODEL:
        _MODEL.append(MiniLM(threads=1))
    return _MODEL[0]


def the_one(embedder: Embedder) -> Embedders:
    """Return embedders that resolve every name to this model."""
    return Embedders(lambda: embedder, lambda _: embedder, lambda _: "")


@dataclass
class Brain:
    """The components, and the API on them."""

    store: SqlStore
    text: TextIndex
    vectors: VectorIndex
    embedder: Embedder
    clock: FakeClock
    settings: Settings
    wake: LocalWake = field(default_factory=LocalWake)
    text_generation: Generation | None = None
    vector_generation: Generation | None = None
    apps: list[Starlette] = field(default_factory=list)

    def app(self, **other: Any) -> Starlette:
        """Return a new API; `other` replaces parts of its container."""
        embedder, services = other.pop("embedder", self.embedder), other.pop("services", ())
        container = Container(self.settings, shared="close" not in other)
        ports: dict[str, Any] = {
            "store": self.store,
            "text": self.text,
            "vectors": self.vectors,
            "embedders": the_one(embedder),
            "token_encoder": small_model(),
            "clock": self.clock,
            "content_policy": DetectingPolicy(),
            "wake": self.wake,
            "rates": LocalRates(self.clock),
            "streams": RedisStreams(Streams(url=NOWHERE)),
            "broadcast_stream": RedisBroadcastStream(Streams(url=NOWHERE)),
            "reasoner": None,
            "pressure": Pressure(self.store.outbox, None, outbox_limit=1_000_000, memory_share=1),
        }
        vars(container).update(ports | other)
        made = api(container, services)
        made.state.api.hub._look_s = 0.05  # no stream server signals new broadcasts
        self.apps.append(made)
        return made

    async def presence(self) -> None:
        """Write presence to the database now: apps do so a moment later."""
        for app in self.apps:
            await app.state.api.presence.flush()

    async def workspace(self, name: str = "w1") -> None:
        if name not in {known.id for known in await self.store.workspaces.workspaces()}:
            await self.store.workspaces.create_workspace(Workspace(id=name, name=name, created_at=self.clock.now()))

    async def new_workspace(self) -> str:
        """Create a workspace with a unique id; return the id."""
        name = f"w-{uuid.uuid4().hex}"
        await self.store.workspaces.create_workspace(Workspace(id=name, name=name, created_at=self.clock.now()))
        return name

    async def key(self, workspace: str = "w1", agent: str = "ada", **limits: Any) -> str:
        """Create a key and return its secret; it allows everything but ADMIN, apart from what `limits` replace."""
        await self.workspace(workspace)
        given: dict[str, Any] = {"permissions": frozenset(Permission) - {Permission.ADMIN}, "name": f"{agent} of test"}
        key, secret = issue(workspace_id=workspace, agent_id=agent, now=self.clock.now(), **(given | limits))
        await self.store.api_keys.create_key(key, hash_secret(secret))
        return secret

    async def settle(self) -> None:
        """Do the services' work until none is left."""
        identity = await self.embedder.identity()
        text = await serving_indexes.text_generation(self.store.generations, self.text, "t-1")
        await serving_indexes.noted_vector_generation(self.store.generations, self.vectors.builder, identity, "v")
        vector = await serving_indexes.existing_vector_generation(self.store.generations, self.vectors)
        while entries := await self.store.outbox.take(500):
            found = [(each.stream, _decoded(each.stream, each.body)) for each in entries if each.stream in MODELS]
            stored = [event for stream, event in found if stream in ("memory.stored", "memory.reindex")]
            if stored:
                ports: dict[str, Any] = {"store": self.store, "embedder": self.embedder, "clock": self.clock}
                given = any(stream == "memory.reindex" for stream, _ in found)
                await embed_stored(stored, **ports, batch=32, tokens=small_model(), given=given)
            ids = list(dict.fromkeys(event.data.memory_id for _, event in found))
            await project_text(ids, store=self.store, index=self.text, generations=[text])
            await project_vector(ids, store=self.store, index=self.vectors, generations=[vector])
            await self.store.outbox.delete([entry.id for entry in entries])

    @asynccontextmanager
    async def services(self) -> AsyncIterator[None]:
        """Run the services' work while the block runs."""

        async def work() -> None:
            while True:
                await self.settle()
                await self.wake.wait(0.05)

        task = asyncio.create_task(work())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])


def _decoded(stream: str, body: bytes) -> CloudEvent[Any]:
    return decode(MODELS[stream], body, event_type(stream))


@asynccontextmanager
async def open_brain(
    database_url: str,
    folder: Path,
    folders: pytest.TempPathFactory,
    *,
    text: TextIndex | None = None,
    vectors: VectorIndex | None = None,
    **settings: Any,
) -> AsyncIterator[Brain]:
    """Open a brain in `folder`, by default with embedded indexes, whose vector shards are lent."""
    from openbrain.adapters.tantivy import TantivyText

    made = copy_tables(database_url)
    database = open_database(database_url, pool=8, lock_wait_s=PATIENCE_S)
    clock = FakeClock()
    text = text or TantivyText(folder / "text", commit_ms=5)
    vectors = vectors or LentVectors(folder / "vectors", folders.getbasetemp() / "shards")
    try:
        if not made:
            await database.write(make_tables)
            keep_tables(database_url)
        store = SqlStore(database, clock)
        vaults = {name: folder / f"vault-of-{name}" for name in ("w1", "system")}
        for vault in vaults.values():
            vault.mkdir(exist_ok=True)
        settings.setdefault("vaults", {"folders": vaults})
        settings.setdefault("recall", {"tuning": {"index_timeout_s": 60}})  # an index on a slow machine is not down
        chosen = Settings(_env_file=None, data_dir=folder, truth={"url": database_url}, **settings)
        yield Brain(store, text, vectors, small_model(), clock, chosen)
    finally:
        await text.close()
        await vectors.close()
        await database.close()


@pytest.fixture
def brain_database_url(tmp_path: Path) -> str:
    """SQLite; a module that needs both databases overrides this fixture."""
    return f"sqlite+aiosqlite:///{tmp_path}/truth.db"


@pytest.fixture
async def brain(
    brain_database_url: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Brain]:
    async with open_brain(brain_database_url, tmp_path, tmp_path_factory) as opened:
        yield opened


@pytest.fixture(scope="module")
def module_database_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """SQLite for the brain of a module."""
    return f"sqlite+aiosqlite:///{tmp_path_factory.mktemp('truth')}/truth.db"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def module_brain(module_database_url: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Brain]:
    """One API with its indexes per module, for tests that each use a workspace of their own (`Brain.new_workspace`) and
    look at nothing outside it. Their passing next to each other also shows that tenants are isolated.

    Tests that use it are marked `pytest.mark.asyncio(loop_scope="module")`.
    """
    async with open_brain(module_database_url, tmp_path_factory.mktemp("brain"), tmp_path_factory) as opened:
        yield opened


def http(app: Starlette, key: str = "", **headers: str) -> httpx.AsyncClient:
    """Return a raw HTTP client of the app in this process."""
    own = {"authorization": f"Bearer {key}"} if key else {}
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://brain", headers={**own, **headers})


def client_of(app: Starlette, key: str) -> OpenBrain:
    """Return the typed client of the app in this process."""
    return OpenBrain("http://brain.test", key, transport=httpx.ASGITransport(app))


def offer(content: str = "the sky is blue", **changes: Any) -> dict[str, Any]:
    return {"content": content, "type": "fact", **changes}


async def remembered(client: httpx.AsyncClient, *contents: str, **changes: Any) -> Sequence[str]:
    """Store these contents; return the ids of the new memories."""
    ids = []
    for content in contents:
        response = await client.post("/v1/brain/remember", json=offer(content, **changes))
        assert response.status_code == 201, response.text
        ids.append(response.json()["id"])
    return ids


async def recorded(brain: Brain, recall_id: str) -> bool:
    """Whether the recall was recorded, which happens after the answer was sent."""
    found = await rows(brain.store._database, "SELECT COUNT(*) AS n FROM recalls WHERE id = :id", id=recall_id)
    return bool(found[0]["n"])


def unknown_id() -> str:
    return uuid7(0)


class Caller:
    """A caller with every permission, and a memory to address."""

    def __init__(self, brain: Brain, client: httpx.AsyncClient, memory_id: str) -> None:
        self.brain = brain
        self.client = client
        self.memory_id = memory_id

    async def send(self, method: str, path: str, **parts: Any) -> httpx.Response:
        return await self.client.request(method, path.replace("{id}", self.memory_id), **parts)

    async def counts(self) -> list[int]:
        """Count everything that a request could leave behind, except recall events, which are written later."""
        outbox = "outbox WHERE stream NOT LIKE '%memory.recalled'"
        tables = ("memories", "memory_history", outbox, "idempotency_keys", "api_keys", "workspaces")
        database = self.brain.store._database
        return [(await rows(database, f"SELECT count(*) AS n FROM {table}"))[0]["n"] for table in tables]


@pytest_asyncio.fixture(loop_scope="module")
async def caller(module_brain: Brain) -> AsyncIterator[Caller]:
    """A caller on the module's brain, which refused requests leave unchanged."""
    key = await module_brain.key("system", permissions=frozenset(Permission))
    async with http(module_brain.app(), key) as client:
        (memory_id,) = await remembered(client, f"here before {uuid.uuid4()}")
        yield Caller(module_brain, client, memory_id)


def refused(response: httpx.Response, status: int, field: str | None = None) -> dict[str, Any]:
    """Check that the answer is a problem; return it."""
    problem: dict[str, Any] = response.json()
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    assert problem["status"] == status
    assert problem["error"]
    assert problem["message"] == problem["detail"]
    if field:
        assert problem["field"].startswith(field), problem
    return problem
