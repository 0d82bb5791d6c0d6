"""The whole pipeline in this process, on embedded parts, with its API."""

import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from redis.asyncio import Redis
from starlette.applications import Starlette

from openbrain.domain.access.permissions import Permission
from openbrain.domain.events.envelope import FIELD, encode
from openbrain.domain.events.streams import SUBMITTED
from openbrain.domain.events.submission import MemorySubmitted
from openbrain.ports.store.tenants import Workspace
from openbrain.runtime.container import Container
from openbrain.settings import Recall, Settings, Streams
from openbrain.settings.events import Events
from openbrain.settings.tuning import RecallTuning, StreamTuning
from openbrain.streams.monitoring import endpoints
from openbrain.usecases.auth import hash_secret, issue
from openbrain_api.app import api
from openbrain_cli.system.embedded.pipeline import Running, running
from tests.support.embedder.shared_session import shared_model_session
from tests.support.processes import made_once
from tests.support.processes.short_pauses import shorten
from tests.support.streams.absence import one_outage
from tests.support.streams.stillness import Stillness
from tests.support.waiting import until

__all__ = ["one_outage", "shared_model_session"]

PATIENT = Recall(tuning=RecallTuning(index_timeout_s=60))
"""On a busy machine an answer may rightly lack an index; these tests are about something else."""


@pytest.fixture(scope="module", autouse=True)
def short_pauses() -> Iterator[None]:
    """Scale down leases, polling intervals and settling times: no test in this folder depends on their length."""
    with pytest.MonkeyPatch.context() as patched:
        shorten(patched.setattr)
        made_once.copy(patched.setattr)
        # On a busy machine a part may take more than 3 s to answer; that is no failure there.
        patched.setattr(endpoints, "_CHECK_S", 30.0)
        yield


@dataclass(frozen=True, slots=True)
class Brain:
    """A running system, its API and its stream server, seen from one workspace."""

    system: Running
    http: httpx.AsyncClient
    redis: Redis
    workspace: str = "default"
    since: str = "-"
    """Where to start reading a stream."""

    @property
    def container(self) -> Container:
        return self.system.container

    async def post(self, path: str, body: dict[str, Any], status: int = 200) -> dict[str, Any]:
        answer = await self.http.post(path, json=body)
        assert answer.status_code == status, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def remember(self, content: str, **more: Any) -> str:
        """Store one memory; return its id."""
        made = await self.post("/v1/brain/remember", {"content": content, "type": "fact", **more}, 201)
        return str(made["id"])

    async def memory(self, memory_id: str, **query: Any) -> dict[str, Any]:
        answer = await self.http.get(f"/v1/brain/memories/{memory_id}", params=query)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def recalled(self, query: str, **more: Any) -> list[str]:
        """The ids of everything that a recall finds, best first."""
        answer = await self.post("/v1/brain/recall", {"query": query, "precision": "recall", **more})
        return [memory["id"] for memory in answer["memories"]]

    async def listed(self, **query: Any) -> list[str]:
        answer = await self.http.get("/v1/brain/list", params=query)
        assert answer.status_code == 200, answer.text
        return [memory["id"] for memory in answer.json()["memories"]]

    async def indexed(self, memory_id: str) -> None:
        """Wait until both indexes hold its current revision."""

        async def both() -> bool:
            return bool((await self.memory(memory_id))["indexed"])

        await until(both)

    async def settled(self) -> None:
        """Wait until nothing is on its way: an empty outbox, no entry unread or unacknowledged."""
        await until(Stillness(self.container.store.outbox, self.redis), pause=0.03)

    async def entries(self, stream: str) -> list[dict[bytes, bytes]]:
        """The fields of every entry, oldest first."""
        found: Any = await self.redis.xrange(stream, min=self.since)
        return [fields for _, fields in found]

    async def submit(self, event_id: str = "e-1", **data: Any) -> None:
        """Submit by one XADD, as a producer does."""
        offered = MemorySubmitted(**{"type": "fact", "workspace_id": self.workspace, **data})
        await self.redis.xadd(SUBMITTED.name, {FIELD: encode(SUBMITTED.name, offered, event_id=event_id, at=0)})

    @asynccontextmanager
    async def tenant(self, workspace: str) -> AsyncIterator["Brain"]:
        """This system, used with the key of a new workspace. Wait on exit until nothing is in flight."""
        container = self.system.container
        made = container.clock.now()
        await container.store.workspaces.create_workspace(Workspace(id=workspace, name=workspace, created_at=made))
        key, secret = issue(
            workspace_id=workspace, name="test", permissions=frozenset(Permission), now=made, act_as=("*",)
        )
        await container.store.api_keys.create_key(key, hash_secret(secret))
        seconds, micros = await self.redis.time()
        now = seconds * 1000 + micros // 1000

        async def later() -> bool:
            seconds, micros = await self.redis.time()
            return bool(seconds * 1000 + micros // 1000 > now)

        await until(later, pause=0.001)
        async with _client(self.system, secret) as http:
            yield Brain(self.system, http, self.redis, workspace, f"{now + 1}-0")
            await self.settled()


def _client(system: Running, key: str) -> httpx.AsyncClient:
    transport, headers = httpx.ASGITransport(rest(system)), {"Authorization": f"Bearer {key}"}
    return httpx.AsyncClient(transport=transport, base_url="http://brain", headers=headers)


def rest(system: Running) -> Starlette:
    """Its API without the tools at /mcp: creating those takes as long as starting the system."""
    return api(system.container, system.services)


@asynccontextmanager
async def started(
    settings: Settings, make_parts: Callable[[Settings], Container] | None = None
) -> AsyncIterator[Brain]:
    """A running system with its API."""
    async with running(settings, make_parts) as system:
        key = system.key_file.read_text(encoding="utf-8").strip()
        async with (
            _client(system, key) as http,
            Redis.from_url(system.container.settings.streams.url) as redis,
        ):
            yield Brain(system, http, redis)


def usual(folder: Path) -> Settings:
    """The settings of `openbrain up`, with short pauses."""
    return Settings(
        data_dir=folder,
        streams=Streams(bound_workspaces=("bound",), tuning=StreamTuning(poll_s=0.3, reap_s=1)),
        events=Events(streams={"events:health": "default"}),
        recall=PATIENT,
    )


@pytest.fixture
async def brain(tmp_path: Path) -> AsyncIterator[Brain]:
    """A system started as by `openbrain up`, on a fresh folder."""
    async with started(usual(tmp_path / "data")) as begun:
        yield begun


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_brain(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Brain]:
    """One running system for a module whose tests each use a separate workspace."""
    async with started(usual(tmp_path_factory.mktemp("brain") / "data")) as begun:
        yield begun


@pytest_asyncio.fixture(loop_scope="module")
async def tenant(shared_brain: Brain, request: pytest.FixtureRequest) -> AsyncIterator[Brain]:
    """A separate workspace in the module's system."""
    async with shared_brain.tenant(workspace_name(request)) as brain:
        yield brain


def workspace_name(request: pytest.FixtureRequest) -> str:
    """A different name for each test of a module."""
    return f"w{zlib.crc32(request.node.name.encode()):08x}"
