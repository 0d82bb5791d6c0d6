"""The transaction runner on both databases: what is committed, repeated, translated and left behind."""

import asyncio
import re
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, make_url, text
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.util import await_only

from openbrain.adapters.sql.database import Database
from openbrain.errors import SetupError, TryLater
from tests.servers.plugin import Starter
from tests.truth_support import database, database_url

__all__ = ["database", "database_url"]

LEASE = "INSERT INTO leases (name, holder, expires_at) VALUES (:name, :holder, 0)"


def add(name: str, holder: str = "x") -> Any:
    return lambda connection: connection.execute(text(LEASE), {"name": name, "holder": holder}).rowcount


def names(connection: Connection) -> list[str]:
    return list(connection.scalars(text("SELECT name FROM leases ORDER BY name")))


async def test_what_returns_is_committed_and_what_raises_is_not(database: Database) -> None:
    assert await database.write(add("kept")) == 1

    def fails(connection: Connection) -> None:
        add("lost")(connection)
        raise KeyError("later")

    with pytest.raises(KeyError, match="later"):
        await database.write(fails)
    assert await database.read(names) == ["kept"]
    await database.write(add("after"))
    assert await database.read(names) == ["after", "kept"]


async def test_savepoints_undo_a_part(database: Database) -> None:
    def partly(connection: Connection) -> None:
        add("a")(connection)
        with pytest.raises(IntegrityError):
            again(connection)
        add("c")(connection)

    def again(connection: Connection) -> None:
        with connection.begin_nested():
            add("b")(connection)
            add("a")(connection)

    await database.write(partly)
    assert await database.read(names) == ["a", "c"]


async def test_a_refused_value_is_an_error_that_shows_no_value(database: Database) -> None:
    await database.write(add("a"))
    with pytest.raises(IntegrityError) as caught:
        await database.write(add("a", "a secret holder"))
    assert "secret" not in str(caught.value)
    assert database.explain(caught.value) is None


async def test_missing_tables_say_what_to_run(database: Database) -> None:
    with pytest.raises(SetupError, match="openbrain db upgrade"):
        await database.read(lambda connection: connection.execute(text("SELECT 1 FROM no_such_table")).all())


async def test_many_at_once(database: Database) -> None:
    await asyncio.gather(*[database.write(add(f"{number:03}")) for number in range(60)])
    counts = await asyncio.gather(*[database.read(names) for _ in range(60)])
    assert {len(count) for count in counts} == {60}


async def test_a_cancelled_write_is_whole_or_nothing_and_the_next_goes_on(database: Database) -> None:
    def two(connection: Connection) -> None:
        add(f"{first}-a")(connection)
        add(f"{first}-b")(connection)

    for number in range(20):
        first = f"{number:02}"
        running = asyncio.create_task(database.write(two))
        for _ in range(number):
            await asyncio.sleep(0)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    await database.write(add("zz"))
    found = await database.read(names)
    assert found[-1] == "zz"
    pairs = [name.split("-")[0] for name in found[:-1]]
    assert all(pairs.count(pair) == 2 for pair in pairs)


async def test_text_compares_byte_for_byte(database: Database) -> None:
    spellings = ["a", "A", "a ", "á", "a\N{COMBINING ACUTE ACCENT}", "ａ", "\N{BRAIN}"]  # noqa: RUF001 - a wide a
    for spelling in spellings:
        await database.write(add(spelling))
    assert sorted(await database.read(names)) == sorted(spellings)
    for spelling in spellings:
        query = text("SELECT name FROM leases WHERE name = :name")
        found = await database.read(lambda c, q=query, n=spelling: list(c.scalars(q, {"name": n})))  # type: ignore[misc]
        assert found == [spelling]


@pytest.mark.parametrize(
    "url",
    [
        "",
        "nonsense",
        "postgresql://u:hidden@h/d",
        "sqlite+aiosqlite://",
        "sqlite:///:memory:",
        "mysql+aiomysql://u:hidden@h",
    ],
)
def test_a_url_of_another_kind_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(SetupError) as caught:
        Database.open(url)
    assert "hidden" not in str(caught.value)


# SQLite


@pytest.fixture
async def file(tmp_path: Path) -> AsyncIterator[tuple[Path, Database]]:
    path = tmp_path / "new" / "folder" / "truth.db"
    opened = Database.open(f"sqlite:///{path}", pool=2, lock_wait_s=0.2)
    await opened.write(lambda connection: connection.execute(text("CREATE TABLE n (i INTEGER)")))
    yield path, opened
    await opened.close()


async def test_sqlite_writes_ahead_and_syncs(file: tuple[Path, Database]) -> None:
    path, opened = file
    for run in (opened.read, opened.write):
        assert await run(lambda connection: connection.scalar(text("PRAGMA journal_mode"))) == "wal"
        assert await run(lambda connection: connection.scalar(text("PRAGMA synchronous"))) == 2
    await opened.close()
    assert [each.name for each in path.parent.iterdir()] == ["truth.db"]


async def test_sqlite_reads_while_another_process_writes(file: tuple[Path, Database]) -> None:
    path, opened = file
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    other.execute("INSERT INTO n VALUES (1)")
    assert await opened.read(lambda connection: connection.scalar(text("SELECT COUNT(*) FROM n"))) == 0
    with pytest.raises(TryLater, match="lock"):
        await opened.write(lambda connection: connection.execute(text("INSERT INTO n VALUES (2)")))
    other.execute("COMMIT")
    other.close()
    await opened.write(lambda connection: connection.execute(text("INSERT INTO n VALUES (2)")))
    assert await opened.read(lambda connection: connection.scalar(text("SELECT COUNT(*) FROM n"))) == 2


COUNTER = """
import asyncio, sys
from openbrain.adapters.sql.database import Database
def add(connection):
    seen = connection.exec_driver_sql("SELECT COUNT(*) FROM n").scalar()
    connection.exec_driver_sql("INSERT INTO n VALUES (?)", (seen,))
async def main():
    database = Database.open(sys.argv[1], lock_wait_s=30)
    for _ in range(40):
        await database.write(add)
    await database.close()
asyncio.run(main())
"""


async def test_sqlite_is_safe_for_several_processes(file: tuple[Path, Database]) -> None:
    path, opened = file
    workers = [subprocess.Popen([sys.executable, "-c", COUNTER, f"sqlite:///{path}"]) for _ in range(3)]
    assert [await asyncio.to_thread(worker.wait) for worker in workers] == [0, 0, 0]
    found = await opened.read(lambda connection: list(connection.scalars(text("SELECT i FROM n ORDER BY i"))))
    assert found == list(range(120))


async def test_sqlite_says_when_the_file_is_not_its_own(tmp_path: Path) -> None:
    (tmp_path / "truth.db").write_text("this is no database" * 100)
    opened = Database.open(f"sqlite:///{tmp_path}/truth.db")
    with pytest.raises(SetupError, match="damaged or not of SQLite"):
        await opened.read(names)
    await opened.close()


async def test_sqlite_says_when_the_file_cant_be_opened(tmp_path: Path) -> None:
    (tmp_path / "truth.db").mkdir()
    opened = Database.open(f"sqlite:///{tmp_path}/truth.db")
    with pytest.raises(SetupError, match="can't be opened"):
        await opened.write(names)
    await opened.close()


# MariaDB


@pytest.fixture
async def server(mariadb_url: str) -> AsyncIterator[Database]:
    opened = Database.open(mariadb_url, pool=4, lock_wait_s=1)
    await opened.write(lambda connection: connection.execute(text("CREATE TABLE n (i INT PRIMARY KEY, t VARCHAR(3))")))
    await opened.write(lambda connection: connection.execute(text("INSERT INTO n VALUES (1, 'a'), (2, 'b')")))
    yield opened
    await opened.close()


def change(number: int) -> Any:
    return lambda connection: connection.execute(text("UPDATE n SET t = 'c' WHERE i = :i"), {"i": number})


async def test_mariadb_cuts_nothing(server: Database) -> None:
    with pytest.raises(DBAPIError, match=re.escape("(1406")):
        await server.write(lambda connection: connection.execute(text("INSERT INTO n VALUES (3, 'long')")))


async def test_mariadb_repeats_a_deadlock(server: Database) -> None:
    meeting = asyncio.Barrier(2)
    attempts = 0

    def crosswise(first: int, second: int) -> Any:
        met = False

        def transaction(connection: Connection) -> None:
            nonlocal attempts, met
            attempts += 1
            change(first)(connection)
            if not met:
                met = True
                await_only(meeting.wait())
            change(second)(connection)

        return transaction

    await asyncio.gather(server.write(crosswise(1, 2)), server.write(crosswise(2, 1)))
    assert attempts == 3


async def test_mariadb_lets_a_waiter_go_in_time(server: Database) -> None:
    held, done = asyncio.Event(), asyncio.Event()

    def holds(connection: Connection) -> None:
        change(1)(connection)
        held.set()
        await_only(done.wait())

    holder = asyncio.create_task(server.write(holds))
    await held.wait()
    with pytest.raises(TryLater, match="busy"):
        await server.write(change(1))
    done.set()
    await holder
    await server.write(change(1))


async def test_mariadb_repeats_when_a_connection_is_lost(server: Database) -> None:
    attempts = 0

    def loses(connection: Connection) -> None:
        nonlocal attempts
        attempts += 1
        change(1)(connection)
        if attempts == 1:
            own = connection.scalar(text("SELECT CONNECTION_ID()"))
            connection.execute(text(f"KILL {own}"))
        change(2)(connection)

    await server.write(loses)
    assert attempts == 2


async def test_mariadb_not_answering_in_time(server: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_patience", 0.5)
    with pytest.raises(TryLater, match="can't be reached"):
        await server.write(lambda connection: (change(1)(connection), connection.execute(text("SELECT SLEEP(60)"))))
    found = await server.read(lambda connection: list(connection.scalars(text("SELECT t FROM n ORDER BY i"))))
    assert found == ["a", "b"]


async def test_mariadb_down_and_up_again(private_server: Starter) -> None:
    mariadb = private_server("mariadb")
    opened = Database.open(mariadb.url, pool=2, lock_wait_s=1)
    one = lambda connection: connection.scalar(text("SELECT 1"))  # noqa: E731
    assert (
        await asyncio.gather(*[opened.read(one) for _ in range(4)], *[opened.write(one) for _ in range(4)]) == [1] * 8
    )
    mariadb.kill()
    for run in (opened.read, opened.write):
        with pytest.raises(TryLater, match="can't be reached"):
            await run(one)
    mariadb.start()
    assert (
        await asyncio.gather(*[opened.read(one) for _ in range(4)], *[opened.write(one) for _ in range(4)]) == [1] * 8
    )
    mariadb.restart()
    assert (
        await asyncio.gather(*[opened.read(one) for _ in range(4)], *[opened.write(one) for _ in range(4)]) == [1] * 8
    )
    await opened.close()


@pytest.mark.parametrize("wrong", [{"password": "hidden"}, {"database": "openbrain_nowhere"}])
async def test_mariadb_refusing_us_is_for_a_person(mariadb_url: str, wrong: dict[str, str]) -> None:
    opened = Database.open(make_url(mariadb_url).set(**wrong).render_as_string(hide_password=False))  # type: ignore[arg-type]
    with pytest.raises(SetupError, match="check user, password") as caught:
        await opened.read(names)
    assert "hidden" not in str(caught.value)
    await opened.close()
