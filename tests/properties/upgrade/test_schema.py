"""A rolling upgrade of the schema: it is migrated while writers, the relay and readers run, and old code continues
afterwards.

The newest migration runs during ordinary statements. What it adds must let a program that does not know it write and
read as before: old inserts name only the old columns.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text

from openbrain.adapters.sql.engine.opening import open_database
from openbrain.adapters.sql.schema import commands
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.access.visibility import Criteria, Viewer, visible
from openbrain.domain.errors import TryLater
from openbrain.ports.store.generations import IndexKind
from openbrain.ports.store.index_entries import Mark
from openbrain.ports.store.writes import Status
from tests.support.store.fixtures import FakeClock, clock, origin, rows, viewer, write
from tests.support.store.fixtures import bare_database_url as database_url
from tests.support.waiting import PATIENCE_S, until

FIXTURES = (clock, database_url)
ENOUGH = 30
"""Rounds of each kind of work before the migration, and as many after."""
EVERYONE = Viewer(workspace_id="w1", agent_id="ada")


def last_but_one() -> str:
    scripts = ScriptDirectory.from_config(commands._config())
    newest = scripts.get_revision("head")
    return str(newest.down_revision)


@dataclass
class Load:
    """Work done, by kind; a `TryLater` is retried and counted."""

    store: SqlStore
    done: dict[str, int] = field(default_factory=dict)
    waited: int = 0
    stored: list[str] = field(default_factory=list)
    published: set[int] = field(default_factory=set)
    over: bool = False

    async def remember(self, number: int) -> None:
        (outcome,) = await self.store.writes.remember(
            [write(f"said while migrating, {number}", idempotency_key=f"k{number}")]
        )
        assert outcome.status is Status.CREATED or outcome.status is Status.DUPLICATE
        assert outcome.memory is not None
        self.stored.append(outcome.memory.id)

    async def forget(self, number: int) -> None:
        if number % 5 == 4 and self.stored:
            await self.store.writes.forget(self.stored[-1], viewer(), origin(), "")

    async def relay(self, _: int) -> None:
        entries = await self.store.outbox.take(50)
        await self.store.outbox.delete([each.id for each in entries])
        self.published.update(each.id for each in entries)

    async def project(self, _: int) -> None:
        found = await self.store.memories.rows(self.stored[-5:])
        await self.store.index_marks.mark(IndexKind.TEXT, [Mark(each.id, each.revision) for each in found.values()])

    async def read(self, _: int) -> None:
        await self.store.memories.listing(visible(EVERYONE, Criteria(), 2**52), 20)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        works = [self.remember, self.forget, self.relay, self.project, self.read]
        async with asyncio.TaskGroup() as group:  # one failure ends the others and the test
            for work in works:
                group.create_task(self._repeat(work))
            yield
            self.over = True

    async def _repeat(self, work: Callable[[int], Awaitable[None]]) -> None:
        number = 0
        while not self.over:
            try:
                await work(number)
            except TryLater:
                self.waited += 1
            else:
                number += 1
                self.done[work.__name__] = number
            await asyncio.sleep(0.002)

    async def more(self, rounds: int) -> None:
        """Wait until each kind of work was done `rounds` times more."""
        before = dict(self.done)

        async def enough() -> bool:
            kinds = ("remember", "forget", "relay", "project", "read")
            return all(self.done.get(kind, 0) - before.get(kind, 0) >= rounds for kind in kinds)

        await until(enough)


async def test_the_newest_migration_runs_while_everything_goes_on(database_url: str, clock: FakeClock) -> None:
    await asyncio.to_thread(commands.upgrade, database_url, last_but_one())
    database = open_database(database_url, pool=8, lock_wait_s=PATIENCE_S)
    load = Load(SqlStore(database, clock))
    try:
        async with load.running():
            await load.more(ENOUGH)
            await asyncio.to_thread(commands.upgrade, database_url)
            await load.more(ENOUGH)
        assert commands.current(database_url) == commands._known()[0]
        made = await rows(database, "SELECT COUNT(*) AS n, COUNT(DISTINCT id) AS ids FROM memories")
        assert made == [{"n": len(set(load.stored)), "ids": len(set(load.stored))}]
        told = await rows(database, "SELECT COUNT(*) AS n FROM memory_history WHERE action = 'created'")
        assert told[0]["n"] == len(set(load.stored))
        left = len(await load.store.outbox.take(10**6))
        top = (await rows(database, "SELECT COUNT(*) AS n FROM memory_history"))[0]["n"]
        assert len(load.published) + left == top, "each line of history announced once, none lost"
    finally:
        await database.close()


async def test_old_code_inserts_into_the_new_schema(database_url: str, clock: FakeClock) -> None:
    """Every column that a migration adds has a default in the server."""
    await asyncio.to_thread(commands.upgrade, database_url, last_but_one())
    database = open_database(database_url, pool=2, lock_wait_s=PATIENCE_S)
    try:
        before = await database.read(_columns)
        await asyncio.to_thread(commands.upgrade, database_url)
        after = await database.read(_columns)
        for table, columns in before.items():
            assert set(columns) <= set(after[table]), f"{table}: a column that old code names is gone"
            added = {name: column for name, column in after[table].items() if name not in columns}
            for name, column in added.items():
                assert column["nullable"] or column["default"] is not None, f"{table}.{name} has no value of its own"
        names = [name for name in before["index_generations"] if name not in {"cursor_at", "cursor"}]
        given = {name: _plain(before["index_generations"][name], name) for name in names}
        statement = f"INSERT INTO index_generations ({', '.join(names)}) VALUES ({', '.join(':' + n for n in names)})"
        await database.write(lambda connection: connection.execute(text(statement), given))
        (found,) = await rows(database, "SELECT * FROM index_generations")
        assert found["name"] == given["name"]
    finally:
        await database.close()


def _columns(connection: Any) -> dict[str, dict[str, Any]]:
    looking = inspect(connection)
    return {
        table: {column["name"]: column for column in looking.get_columns(table)} for table in looking.get_table_names()
    }


def _plain(column: Any, name: str) -> object:
    return {"kind": "text", "status": "serving", "name": "first"}.get(name, 1 if "INT" in str(column["type"]) else "x")
