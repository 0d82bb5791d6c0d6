"""The number of unpublished entries, found without counting them each time."""

import sqlalchemy

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.schema.tables import outbox
from openbrain.adapters.sql.store import SqlStore
from tests.support.store.fixtures import rows, stored


async def _filled(database: Database, count: int) -> None:
    await database.write(
        lambda connection: connection.execute(
            outbox.insert(), [{"stream": "memory.stored", "body": b"{}"} for _ in range(count)]
        )
    )


async def test_what_waits_is_told_from_below_and_above_the_limit(store: SqlStore, database: Database) -> None:
    assert await store.outbox.waiting(10) == 0
    for number in range(3):
        await stored(store.writes, f"memory {number}")
    assert await store.outbox.waiting(10) == 3
    await _filled(database, 20)
    assert await store.outbox.waiting(10) == 10, "counting stops at the limit"
    assert await store.outbox.waiting(1000) == 23
    await store.outbox.delete([entry.id for entry in await store.outbox.take(500)])
    assert await store.outbox.waiting(10) == 0


async def test_a_gap_that_low_priority_leaves_behind_is_not_taken_for_events(
    store: SqlStore, database: Database
) -> None:
    await _filled(database, 50)
    ids = [entry.id for entry in await store.outbox.take(500)]
    await store.outbox.delete(ids[1:-1])
    assert await store.outbox.waiting(10) == 2
    assert await store.outbox.waiting(1000) >= 2


async def test_while_there_are_few_nothing_is_counted(store: SqlStore, database: Database) -> None:
    """The query costs the same with ten rows and with a hundred thousand."""
    await _filled(database, 2000)
    said: list[str] = []

    def note(*arguments: object) -> None:
        said.append(str(arguments[2]))

    engine = sqlalchemy.engine.Engine
    sqlalchemy.event.listen(engine, "before_cursor_execute", note)
    try:
        await store.outbox.waiting(1_000_000)
    finally:
        sqlalchemy.event.remove(engine, "before_cursor_execute", note)
    assert [each for each in said if "count" in each.lower()] == []
    asked = [each for each in said if each.startswith("SELECT m")]
    assert len(asked) == 2
    lite = database.dialect == "sqlite"
    for each in asked:
        plan = await rows(database, f"EXPLAIN {'QUERY PLAN ' if lite else ''}{each}")
        assert ("SEARCH" if lite else "optimized away") in str(plan), plan
