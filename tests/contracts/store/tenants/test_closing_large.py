"""Closing a tenant with many rows besides its memories: no transaction removes them all, and a killed run is
continued."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Connection, event
from sqlalchemy.engine import Engine

from openbrain.adapters.sql.engine.database import SQLITE, Database
from openbrain.adapters.sql.schema.signal_tables import signal_acks, signal_history, signals
from openbrain.adapters.sql.schema.tables import outbox, recalls
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.ids import uuid7
from openbrain.ports.store.operations import Operation
from openbrain.ports.store.signals import RaiseOutcome
from openbrain.ports.store.tenants import CLOSE, Workspace
from tests.support.signals.raising import raised
from tests.support.store.direct_rows import put_into
from tests.support.store.fixtures import START, rows

MOST = 1000
"""Rows per transaction."""
MANY = 2500
FOUND_BY_OTHERS = ("DELETE FROM signal_history", "DELETE FROM signal_acks")
"""Rows per transaction for tables without an index by workspace."""


class KilledError(Exception):
    """Simulates the end of the process."""


@dataclass
class Seen:
    """What each transaction removed, and the statements."""

    transactions: list[int] = field(default_factory=list)
    said: list[tuple[str, Any]] = field(default_factory=list)
    open: int = 0


@contextmanager
def watched(kill_after: int | None = None) -> Iterator[Seen]:
    """Count what each transaction removes; the one after the first `kill_after` is killed in the middle."""
    seen = Seen()

    def removed(*call: Any) -> None:
        _, cursor, statement, given = call[:4]
        if statement.startswith("DELETE"):
            seen.said.append((statement, given))
            seen.open += cursor.rowcount
        if seen.open and kill_after == len(seen.transactions):
            raise KilledError

    def committing(_connection: Any) -> None:
        seen.transactions += [seen.open] if seen.open else []
        seen.open = 0

    event.listen(Engine, "after_cursor_execute", removed)
    event.listen(Engine, "commit", committing)
    try:
        yield seen
    finally:
        event.remove(Engine, "after_cursor_execute", removed)
        event.remove(Engine, "commit", committing)


async def full(store: SqlStore, database: Database, name: str) -> None:
    """Fill a tenant with many rows of everything that can be large."""
    await store.workspaces.create_workspace(Workspace(id=name, name=name, created_at=START))
    (outcome,) = await store.signals.raise_signals([raised(workspace_id=name)])
    assert isinstance(outcome, RaiseOutcome)
    assert outcome.signal is not None
    told: dict[str, Any] = {"workspace_id": name, "query": "", "results": "[]", "took_ms": 1.0, "created_at": START}
    await put_into(database, recalls, *({"id": uuid7(START), **told} for _ in range(MANY)))
    acks = {"signal_id": outcome.signal.id, "workspace_id": name, "at": START}
    await put_into(database, signal_acks, *({**acks, "agent_id": f"agent {number}"} for number in range(MANY)))
    body = f'{{"data":{{"workspace_id":"{name}"}}}}'.encode()
    await put_into(database, outbox, *({"stream": "memory.recalled", "body": body} for _ in range(MANY)))
    (line,) = await rows(database, f"SELECT * FROM signal_history WHERE workspace_id = '{name}'")
    del line["id"]
    await put_into(database, signal_history, *(line for _ in range(MANY)))


async def held(database: Database, name: str) -> dict[str, int]:
    """Row counts of the tables that are large in these tests."""
    found = {
        table.name: len(await rows(database, f"SELECT 1 FROM {table.name} WHERE workspace_id = '{name}'"))
        for table in (recalls, signals, signal_history, signal_acks)
    }
    waiting = await rows(database, "SELECT stream, body FROM outbox")
    return found | {"outbox": sum(name in f"{each['stream']} {each['body']!r}" for each in waiting)}


@pytest.fixture
async def asked(store: SqlStore, database: Database) -> Operation:
    """Two tenants with the same contents, one of which is to be closed."""
    for name in ("w1", "w2"):
        await full(store, database, name)
    operation = Operation(id=uuid7(START), workspace_id="system", kind=CLOSE, actor="op", request={"workspace": "w1"})
    return await store.workspaces.close_workspace("w1", operation)


async def test_no_transaction_takes_all_rows_of_a_tenant(store: SqlStore, database: Database, asked: Operation) -> None:
    stays, goes = await held(database, "w2"), await held(database, "w1")

    with watched() as seen:
        gone = await store.workspaces.drop_workspace("w1", asked.id)

    assert max(seen.transactions) <= MOST
    assert sum(seen.transactions) == sum(gone.values()) + 1, "and its own row"
    assert {name: gone[name] for name in goes} == goes
    assert set((await held(database, "w1")).values()) == {0}
    assert await held(database, "w2") == stays


async def test_one_that_was_killed_is_gone_on_with(store: SqlStore, database: Database, asked: Operation) -> None:
    """The tenant's own row is removed last, so that the tenant can be found until nothing is left."""
    left = await held(database, "w1")
    for after in (0, 2, 3):
        with watched(kill_after=after) as seen, pytest.raises(KilledError):
            await store.workspaces.drop_workspace("w1", asked.id)
        before, left = left, await held(database, "w1")
        assert sum(before.values()) - sum(left.values()) == sum(seen.transactions)
        assert await rows(database, "SELECT id FROM workspaces WHERE id = 'w1'")

    await store.workspaces.drop_workspace("w1", asked.id)

    assert set((await held(database, "w1")).values()) == {0}
    assert not await rows(database, "SELECT id FROM workspaces WHERE id = 'w1'")
    assert set((await store.workspaces.drop_workspace("w1", asked.id)).values()) == {0}


async def test_no_table_is_walked_through_as_a_whole(store: SqlStore, database: Database) -> None:
    """Rows that no index finds by tenant are found by the rows that they belong to."""
    for name in ("w1", "w2"):
        await store.workspaces.create_workspace(Workspace(id=name, name=name, created_at=START))
    await store.signals.raise_signals([raised(workspace_id="w2", content=str(number)) for number in range(1000)])
    await store.signals.raise_signals([raised()])
    with watched() as seen:
        await store.workspaces.drop_workspace("w1", "")

    explain = "EXPLAIN QUERY PLAN " if database.dialect == SQLITE else "EXPLAIN "
    found_by_others = [each for each in seen.said if each[0].startswith(FOUND_BY_OTHERS)]
    assert len(found_by_others) == 2
    for statement, given in found_by_others:
        plan = await database.read(partial(_plan, said=explain + statement, given=given))
        assert "SEARCH" in plan or "'key': 'ix_" in plan or "'key': 'PRIMARY" in plan, (statement, plan)
        assert f"SCAN {statement.split()[2]}" not in plan, (statement, plan)


def _plan(connection: Connection, said: str, given: Any) -> str:
    return str([dict(row) for row in connection.exec_driver_sql(said, given).mappings()])
