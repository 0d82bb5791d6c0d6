"""A new database for each test, on SQLite and on MariaDB: import the fixtures that you need into your test module."""

import contextlib
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, text

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.engine.opening import open_database
from openbrain.adapters.sql.schema.memory_rows import MEMORY_COLUMNS, memory_from_row
from openbrain.adapters.sql.schema.tables import memories
from openbrain.adapters.sql.store import SqlStore
from openbrain.adapters.sql.writes.writing import SqlMemoryWrites
from openbrain.domain.access.visibility import Viewer
from openbrain.domain.errors import TryLater
from openbrain.domain.events.data import MemoryStored, MemorySuperseded
from openbrain.domain.events.envelope import CloudEvent, decode, event_type
from openbrain.domain.ids import content_hash, uuid7
from openbrain.domain.memory import DAY, MICROSECONDS, Memory, MemoryType
from openbrain.ports.store.writes import MemoryWrites, Origin, Outcome, Status, Write
from tests.servers.mariadb_server import DATABASE
from tests.servers.processes.process import Server
from tests.support.store.empty_store import copy_tables, keep_tables
from tests.support.store.mariadb import MariadbTables
from tests.support.store.schema import make_tables
from tests.support.waiting import PATIENCE_S

START = 1_800_000_000_000_000
"""Start of a test's clock: January 2027, in microseconds."""


_MODELS: dict[str, type[CloudEvent[Any]]] = {
    "memory.stored": CloudEvent[MemoryStored],
    "memory.superseded": CloudEvent[MemorySuperseded],
}


class FakeClock:
    """A clock that moves only when a test advances it."""

    def __init__(self, now: int = START) -> None:
        self.time = now

    def now(self) -> int:
        return self.time

    def advance(self, microseconds: int) -> None:
        self.time += microseconds


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(scope="session")
def mariadb_tables(mariadb_server: Server) -> Iterator[MariadbTables]:
    """This process's database."""
    made = MariadbTables(mariadb_server, f"{DATABASE}_{uuid.uuid4().hex[:12]}")
    yield made
    made.drop()


@pytest.fixture
def mariadb_tables_url(mariadb_tables: MariadbTables) -> Iterator[str]:
    """The URL of a database with empty tables; emptied after the test."""
    yield mariadb_tables.url
    mariadb_tables.empty()


@pytest.fixture(params=["sqlite", "mariadb"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a database: without tables on SQLite, with empty ones on MariaDB."""
    if request.param == "mariadb":
        return str(request.getfixturevalue("mariadb_tables_url"))
    return f"sqlite+aiosqlite:///{tmp_path}/truth.db"


@pytest.fixture(params=["sqlite", "mariadb"])
def bare_database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a database without tables."""
    if request.param == "mariadb":
        return str(request.getfixturevalue("mariadb_url"))
    return f"sqlite+aiosqlite:///{tmp_path}/truth.db"


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    """A database with the current tables."""
    made = copy_tables(database_url)
    opened = open_database(database_url, pool=8, lock_wait_s=PATIENCE_S)
    try:
        if not made:
            await opened.write(make_tables)
            keep_tables(database_url)
        yield opened
    finally:
        await opened.close()


def viewer(workspace: str = "w1", agent: str = "ada", **changes: Any) -> Viewer:
    return Viewer(workspace_id=workspace, agent_id=agent, **changes)


def origin(actor: str = "ada", **changes: Any) -> Origin:
    return Origin(actor=actor, **changes)


def memory(content: str = "the sky is blue", now: int = START, **changes: Any) -> Memory:
    """Return a memory as a route passes it on: validated, with hash, id and times."""
    given: dict[str, Any] = {
        "id": uuid7(now),
        "workspace_id": "w1",
        "agent_id": "ada",
        "type": MemoryType.FACT,
        "content_hash": content_hash(content),
        "occurred_at": now,
        "confirmed_at": now,
        "created_at": now,
        "updated_at": now,
    }
    return Memory(content=content, **(given | changes))


def write(content: str = "the sky is blue", *, now: int = START, **changes: Any) -> Write:
    """Return a write of `memory(content)`; `changes` that are fields of the write go there, the rest to the memory."""
    own = set(Write._fields) & changes.keys()
    mine: dict[str, Any] = {"viewer": viewer(), "origin": origin(), "idempotency_expires_at": now + DAY}
    mine |= {name: changes.pop(name) for name in own}
    return Write(memory=memory(content, now, **changes), **mine)


@pytest.fixture
def store(database: Database, clock: FakeClock) -> SqlStore:
    """All ports on the test's database and clock."""
    return SqlStore(database, clock)


@pytest.fixture
def writing(database: Database, clock: FakeClock) -> SqlMemoryWrites:
    return SqlMemoryWrites(database, clock)


async def patiently(writer: MemoryWrites, batch: Sequence[Write]) -> Sequence[Outcome]:
    """Retry on TryLater, as every caller does: it is raised for a batch that lost too many deadlocks."""
    while True:
        with contextlib.suppress(TryLater):
            return await writer.remember(batch)


async def stored(writing: MemoryWrites, content: str = "the sky is blue", **changes: Any) -> Memory:
    """Store a new memory."""
    (outcome,) = await writing.remember([write(content, **changes)])
    assert outcome.status is Status.CREATED, outcome.error
    assert outcome.memory is not None
    return outcome.memory


async def row(database: Database, memory_id: str) -> Memory:
    """Return the current row."""
    query = select(*[memories.c[name] for name in MEMORY_COLUMNS]).where(memories.c.id == memory_id)
    return await database.read(lambda connection: memory_from_row(connection.execute(query).one()))


async def announced(database: Database) -> list[dict[str, Any]]:
    """Return the outbox's events in order, validated against their models."""
    found = await rows(database, "SELECT stream, body FROM outbox ORDER BY id")
    return [_event(each["stream"], each["body"]) for each in found]


def _event(stream: str, body: bytes) -> dict[str, Any]:
    event: CloudEvent[Any] = decode(_MODELS[stream], body, event_type(stream))
    assert event.subject == event.data.memory_id
    about = {"stream": stream, "causationid": event.causationid, "traceparent": event.traceparent}
    told: dict[str, Any] = event.data.model_dump(mode="json", exclude_none=True)
    return told | {name: value for name, value in about.items() if value}


async def age_holds(store: SqlStore, seconds: float) -> None:
    """Make the leases of operations older: they use the database's clock, which can't be set."""
    older, back = text("UPDATE operations SET held_until = held_until - :back"), round(seconds * MICROSECONDS)
    await store._database.write(lambda connection: connection.execute(older, {"back": back}).rowcount)


async def rows(database: Database, statement: str, **values: Any) -> list[dict[str, Any]]:
    """Return the rows of a statement as dictionaries."""
    read: Callable[[Any], list[dict[str, Any]]] = lambda connection: [  # noqa: E731
        dict(row) for row in connection.execute(text(statement), values).mappings()
    ]
    return await database.read(read)
