"""Expired idempotency keys are removed in small transactions, which read no more rows than they remove."""

from typing import Any

import sqlalchemy
from sqlalchemy.engine import Engine

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.schema.tables import idempotency_keys
from openbrain.adapters.sql.store import SqlStore
from tests.support.store.fixtures import START, FakeClock, rows

KEYS, LIMIT = 20_000, 500


async def test_a_round_finds_its_keys_by_their_time_and_removes_no_more_than_its_limit(
    store: SqlStore, database: Database, clock: FakeClock
) -> None:
    made = [
        dict(zip(idempotency_keys.c.keys(), ("w1", f"{number:064}", "m", "c", START + number), strict=True))
        for number in range(KEYS)
    ]
    await database.write(lambda connection: connection.execute(idempotency_keys.insert(), made))
    if database.dialect != "sqlite":
        await rows(database, "ANALYZE TABLE idempotency_keys")
    clock.advance(KEYS)  # all of them have expired
    said: list[tuple[str, Any]] = []

    def note(*arguments: Any) -> None:
        said.append((arguments[2], arguments[3]))

    sqlalchemy.event.listen(Engine, "before_cursor_execute", note)
    try:
        assert await store.writes.purge_idempotency_keys(LIMIT) == LIMIT
    finally:
        sqlalchemy.event.remove(Engine, "before_cursor_execute", note)

    ((statement, given),) = [each for each in said if each[0].startswith("DELETE")]
    explain = "EXPLAIN QUERY PLAN " if database.dialect == "sqlite" else "EXPLAIN "

    def plan(connection: sqlalchemy.Connection) -> list[dict[str, Any]]:
        return [dict(row) for row in connection.exec_driver_sql(explain + statement, given).mappings()]

    (told,) = await database.read(plan)
    if database.dialect == "sqlite":
        assert "SEARCH idempotency_keys USING" in told["detail"]
        assert "expires_at" in told["detail"]
    else:
        assert told["key"] == "ix_idempotency_keys_expires_at"
        assert int(told["rows"]) < 2 * LIMIT
    assert (await rows(database, "SELECT count(*) AS n FROM idempotency_keys"))[0]["n"] == KEYS - LIMIT
