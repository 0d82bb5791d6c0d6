"""The whole pipeline in this process, on embedded parts, with its API beside it."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from openbrain.events import FIELD, encode
from openbrain.parts import Parts
from openbrain.settings import Recall, Settings, Streams
from openbrain.settings.events import Events
from openbrain.streams.table import SUBMITTED
from openbrain.submission import MemorySubmitted
from openbrain_cli.system import Running, running
from tests.support.embedder.shared_session import shared_model_session
from tests.support.streams.stillness import Stillness
from tests.support.waiting import until

__all__ = ["shared_model_session"]

PATIENT = Recall(index_timeout_s=60)
"""A busy machine is slow: that an answer then lacks an index is right, and not what is looked for here."""


@dataclass(frozen=True, slots=True)
class Brain:
    """A running system, its API and its stream server."""

    system: Running
    http: httpx.AsyncClient
    redis: Redis

    @property
    def parts(self) -> Parts:
        return self.system.parts

    async def post(self, path: str, body: dict[str, Any], status: int = 200) -> dict[str, Any]:
        answer = await self.http.post(path, json=body)
        assert answer.status_code == status, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def remember(self, content: str, **more: Any) -> str:
        """Store one memory; returns its id."""
        made = await self.post("/v1/brain/remember", {"content": content, "type": "fact", **more}, 201)
        return str(made["id"])

    async def memory(self, memory_id: str, **query: Any) -> dict[str, Any]:
        answer = await self.http.get(f"/v1/brain/memories/{memory_id}", params=query)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def recalled(self, query: str, **more: Any) -> list[str]:
        """The ids that a recall finds, best first."""
        answer = await self.post("/v1/brain/recall", {"query": query, **more})
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
        """Wait until nothing is on its way: no outbox, no entry unread or unacknowledged."""
        await until(Stillness(self.parts.truth, self.redis), pause=0.03)

    async def entries(self, stream: str) -> list[dict[bytes, bytes]]:
        """The fields of every entry, oldest first."""
        found: Any = await self.redis.xrange(stream)
        return [fields for _, fields in found]

    async def submit(self, event_id: str = "e-1", **data: Any) -> None:
        """One XADD, as a producer does it."""
        offered = MemorySubmitted(**{"type": "fact", "workspace_id": "default", **data})
        await self.redis.xadd(SUBMITTED.name, {FIELD: encode(SUBMITTED.name, offered, event_id=event_id, at=0)})


@asynccontextmanager
async def started(settings: Settings, make_parts: Callable[[Settings], Parts] | None = None) -> AsyncIterator[Brain]:
    """A running system with its API."""
    async with running(settings, make_parts) as system:
        key = system.key_file.read_text(encoding="utf-8").strip()
        transport = httpx.ASGITransport(system.api())
        async with (
            httpx.AsyncClient(
                transport=transport, base_url="http://brain", headers={"Authorization": f"Bearer {key}"}
            ) as http,
            Redis.from_url(system.parts.settings.streams.url) as redis,
        ):
            yield Brain(system, http, redis)


@pytest.fixture
async def brain(tmp_path: Path) -> AsyncIterator[Brain]:
    """Started as `openbrain up` starts it, on a folder of its own."""
    settings = Settings(
        data_dir=tmp_path / "data",
        streams=Streams(poll_s=0.5, reap_s=0.2, bound_workspaces=("bound",)),
        events=Events(streams={"events:health": "default"}),
        recall=PATIENT,
    )
    async with started(settings) as begun:
        yield begun
