"""The embedder's handler, run as its service does: on a real SQLite file, with the real embedded model."""

from array import array
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from openbrain.adapters.embedding.minilm import MiniLM
from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.engine.opening import open_database
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.events.data import MemoryStored
from openbrain.domain.events.envelope import CloudEvent
from openbrain.domain.ids import uuid7
from openbrain.domain.memory import Change, Memory
from openbrain.ports.models import Encoding, ModelIdentity
from openbrain_embedder.handlers.embedding import embed_stored
from tests.support.store.fixtures import START, FakeClock, write
from tests.support.store.schema import make_tables
from tests.support.waiting import PATIENCE_S

Fault = Callable[[Sequence[str]], Exception | None]


class WithFaults(MiniLM):
    """The real model behind a connection that can fail; keeps its requests."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[list[str]] = []
        self.fault: Fault = lambda _: None
        self.missing: Exception | None = None

    async def identity(self) -> ModelIdentity:
        if self.missing:
            raise self.missing
        return await super().identity()

    async def embed(self, inputs: Sequence[str]) -> Sequence["array[float]"]:
        self._ask(inputs)
        return await super().embed(inputs)

    async def encode(self, inputs: Sequence[str]) -> Sequence[Encoding]:
        self._ask(inputs)
        return await super().encode(inputs)

    def _ask(self, inputs: Sequence[str]) -> None:
        self.asked.append(list(inputs))
        if error := self.fault(inputs):
            raise error


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = open_database(f"sqlite+aiosqlite:///{tmp_path}/truth.db", pool=2, lock_wait_s=PATIENCE_S)
    await opened.write(make_tables)
    yield opened
    await opened.close()


@pytest.fixture
def store(database: Database, clock: FakeClock) -> SqlStore:
    return SqlStore(database, clock)


@pytest.fixture
async def model() -> AsyncIterator[WithFaults]:
    opened = WithFaults()
    yield opened
    await opened.close()


class Service:
    """Runs the handler as the service does."""

    def __init__(self, store: SqlStore, model: WithFaults, clock: FakeClock) -> None:
        self.store, self.model, self.clock = store, model, clock

    async def add(self, content: str, **changes: Any) -> Memory:
        (outcome,) = await self.store.writes.remember([write(content, allow_duplicate=True, **changes)])
        assert outcome.memory is not None
        return outcome.memory

    async def embed(self, *memories: Memory, batch: int = 32, change: Change = Change.CREATED) -> dict[str, Exception]:
        events = [event(each, change) for each in memories]
        found = await embed_stored(events, store=self.store, embedder=self.model, clock=self.clock, batch=batch)
        return dict(found)

    async def vectors(self, memory: Memory) -> tuple["array[float]", ...]:
        key = (await MiniLM.identity(self.model)).key
        found = (await self.store.vectors.passages([memory.id], key)).get(memory.id)
        if found is None:
            return ()
        assert found.revision == (await self.store.memories.rows([memory.id]))[memory.id].revision
        return found.vectors

    async def announced(self) -> list[dict[str, Any]]:
        """Return the events `memory.embedded` from the outbox, and empty it."""
        entries = await self.store.outbox.take(1000)
        await self.store.outbox.delete([entry.id for entry in entries])
        return [orjson.loads(entry.body) for entry in entries if entry.stream == "memory.embedded"]


@pytest.fixture
def service(store: SqlStore, model: WithFaults, clock: FakeClock) -> Service:
    return Service(store, model, clock)


def event(memory: Memory, change: Change = Change.CREATED, **extensions: Any) -> CloudEvent[MemoryStored]:
    data = MemoryStored(
        memory_id=memory.id,
        workspace_id=memory.workspace_id,
        version=memory.version,
        revision=memory.revision,
        change=change,
    )
    return CloudEvent(id=uuid7(START), source="/test", type="openbrain.memory.stored.v1", data=data, **extensions)
