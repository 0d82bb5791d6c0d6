"""Statements in the driver's own SQL dialect: one row or many, errors, lost connections."""

import asyncio
from collections.abc import Sequence

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import IntegrityError

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.engine.opening import open_database
from openbrain.adapters.sql.engine.statements import slots
from openbrain.domain.errors import SetupError, TryLater
from tests.servers.plugin import Starter
from tests.support.waiting import PATIENCE_S


def add(connection: Connection, *names: str, holder: str = "x") -> int:
    rows = [(name, holder) for name in names]
    statement = f"INSERT INTO leases (name, holder, expires_at) VALUES ({slots(connection, 2)}, 0)"
    return connection.exec_driver_sql(statement, rows if len(rows) > 1 else rows[0]).rowcount


def names(connection: Connection) -> Sequence[str]:
    return [row[0] for row in connection.exec_driver_sql("SELECT name FROM leases ORDER BY name").fetchall()]


async def test_one_row_and_many_in_one_transaction(database: Database) -> None:
    assert await database.write(lambda connection: (add(connection, "a"), add(connection, "b", "c"))) == (1, 2)
    assert await database.read(names) == ["a", "b", "c"]


async def test_a_refused_row_is_undone_and_its_error_shows_no_value(database: Database) -> None:
    await database.write(lambda connection: add(connection, "a"))
    for refused in (("b", "a"), ("a",)):
        with pytest.raises(IntegrityError) as caught:
            await database.write(lambda connection, these=refused: add(connection, *these, holder="a secret"))  # type: ignore[misc]
        assert "secret" not in str(caught.value)
        assert database.explain(caught.value) is None
    assert await database.read(names) == ["a"]


async def test_a_savepoint_undoes_a_part(database: Database) -> None:
    def partly(connection: Connection) -> None:
        add(connection, "a")
        with pytest.raises(IntegrityError):
            again(connection)
        add(connection, "c")

    def again(connection: Connection) -> None:
        with connection.begin_nested():
            add(connection, "b")
            add(connection, "a")

    await database.write(partly)
    assert await database.read(names) == ["a", "c"]


async def test_missing_tables_say_what_to_run(database: Database) -> None:
    with pytest.raises(SetupError, match="openbrain db upgrade"):
        await database.write(lambda connection: connection.exec_driver_sql("DELETE FROM no_such_table"))
    assert await database.write(lambda connection: add(connection, "a")) == 1


async def test_mariadb_repeats_when_the_connection_is_lost(mariadb_url: str) -> None:
    opened = open_database(mariadb_url, pool=2, lock_wait_s=PATIENCE_S)
    attempts = 0

    def loses(connection: Connection) -> Sequence[tuple[int]]:
        nonlocal attempts
        attempts += 1
        if attempts == 1:
            connection.exec_driver_sql("SELECT 1").fetchall()
            own = connection.scalar(text("SELECT CONNECTION_ID()"))
            connection.execute(text(f"KILL {own}"))
        return connection.exec_driver_sql("SELECT 2").fetchall()

    assert [tuple(row) for row in await opened.write(loses)] == [(2,)]
    assert attempts == 2
    await opened.close()


async def test_mariadb_a_cancelled_statement_leaves_no_half_read_connection(mariadb_url: str) -> None:
    opened = open_database(mariadb_url, pool=1, lock_wait_s=PATIENCE_S)
    await opened.write(lambda connection: connection.exec_driver_sql("SELECT 1").fetchall())
    waiting = asyncio.create_task(
        opened.write(lambda connection: connection.exec_driver_sql("SELECT SLEEP(30)").fetchall())
    )
    running = text("SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP%'")
    async with asyncio.timeout(PATIENCE_S):
        while not await opened.read(lambda connection: connection.scalar(running)):
            await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)

    found = await opened.write(lambda connection: connection.exec_driver_sql("SELECT 2").fetchall())
    assert [tuple(row) for row in found] == [(2,)]
    await opened.close()


async def test_mariadb_closing_leaves_no_connection_of_a_running_statement(mariadb_url: str) -> None:
    closing, other = (open_database(mariadb_url, pool=1, lock_wait_s=PATIENCE_S) for _ in range(2))
    sleeps = "SELECT CONNECTION_ID(), SLEEP(0.5)"
    running = asyncio.create_task(closing.read(lambda connection: connection.exec_driver_sql(sleeps).fetchone()))
    processes = "SELECT id FROM information_schema.processlist"

    def begun(connection: Connection) -> bool:
        return bool(connection.scalar(text(f"SELECT COUNT(*) FROM ({processes} WHERE info LIKE '{sleeps}%') AS p")))

    async with asyncio.timeout(PATIENCE_S):
        while not await other.read(begun):
            await asyncio.sleep(0)
        await closing.close()
        assert running.done()
        row = await running
        assert row is not None
        while row[0] in await other.read(lambda connection: connection.scalars(text(processes)).all()):
            await asyncio.sleep(0)
    await other.close()


@pytest.mark.servers("mariadb")
async def test_mariadb_that_was_away_is_used_again(private_server: Starter) -> None:
    mariadb = private_server("mariadb")
    opened = open_database(mariadb.url, pool=4, lock_wait_s=1)

    def one(connection: Connection) -> int:
        return len(connection.exec_driver_sql("SELECT 1").fetchall())

    async def all_at_once() -> list[int]:
        return await asyncio.gather(*[opened.write(one) for _ in range(4)])

    await all_at_once()
    mariadb.kill()
    with pytest.raises(TryLater, match="can't be reached"):
        await opened.write(one)
    mariadb.start()
    assert await all_at_once() == [1] * 4
    await opened.close()
