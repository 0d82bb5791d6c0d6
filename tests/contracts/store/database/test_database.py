"""The transaction runner on both databases: commits, retries, translated errors, and what remains afterwards."""

import asyncio
import sqlite3
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import IntegrityError

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.engine.opening import open_database
from openbrain.adapters.sql.engine.statements import fetched, slot
from openbrain.domain.errors import SetupError, TryLater

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
    for read in (database.read, database.read_few):
        assert await read(names) == ["kept"]
    await database.write(add("after"))
    for read in (database.read, database.read_few):
        assert await read(names) == ["after", "kept"]


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


def executed(connection: Connection, statement: str) -> Any:
    return connection.execute(text(statement)).all()


def written_for_the_driver(connection: Connection, statement: str) -> Any:
    return fetched(connection, statement, ())


@pytest.mark.parametrize("run", [executed, written_for_the_driver])
async def test_missing_tables_say_what_to_run(database: Database, run: Callable[[Connection, str], Any]) -> None:
    for read in (database.read, database.read_few):
        with pytest.raises(SetupError, match="openbrain db upgrade"):
            await read(lambda connection: run(connection, "SELECT 1 FROM no_such_table"))
        assert await read(lambda connection: run(connection, "SELECT COUNT(*) FROM leases")) == [(0,)]


async def test_a_query_written_for_the_driver_sees_its_transaction(database: Database) -> None:
    def added(connection: Connection) -> Any:
        add("a")(connection)
        one = slot(connection)
        return fetched(connection, f"SELECT name, expires_at FROM leases WHERE name = {one}", ("a",))

    assert [tuple(row) for row in await database.write(added)] == [("a", 0)]


async def test_many_at_once(database: Database) -> None:
    await asyncio.gather(*[database.write(add(f"{number:03}")) for number in range(60)])
    counts = await asyncio.gather(*[database.read(names) for _ in range(60)])
    assert {len(count) for count in counts} == {60}


async def test_a_cancelled_write_is_whole_or_nothing_and_the_next_goes_on(database: Database) -> None:
    def two(number: int, connection: Connection) -> None:
        add(f"{number:02}-a")(connection)
        add(f"{number:02}-b")(connection)

    for number in range(20):
        running = asyncio.create_task(database.write(partial(two, number)))
        for _ in range(number):
            await asyncio.sleep(0)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    await database.write(add("zz"))
    found = await database.read(names)
    assert found[-1] == "zz"
    pairs = [name.split("-")[0] for name in found[:-1]]
    assert all(pairs.count(pair) == 2 for pair in pairs)


async def test_closing_waits_for_what_runs_and_refuses_what_comes_later(database: Database) -> None:
    running = [asyncio.create_task(database.write(add(f"{number:02}"))) for number in range(8)]
    await asyncio.sleep(0)
    await database.close()

    assert all(task.done() and task.exception() is None for task in running)
    for read in (database.read, database.read_few):
        with pytest.raises(RuntimeError, match="open it anew"):
            await read(names)


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
        open_database(url)
    assert "hidden" not in str(caught.value)


# SQLite


@pytest.fixture
async def file(tmp_path: Path) -> AsyncIterator[tuple[Path, Database]]:
    path = tmp_path / "new" / "folder" / "truth.db"
    opened = open_database(f"sqlite:///{path}", pool=2, lock_wait_s=0.2)
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


async def test_sqlite_waits_in_a_thread_for_a_locked_file(file: tuple[Path, Database]) -> None:
    path, opened = file
    await opened.close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    again = open_database(f"sqlite:///{path}", lock_wait_s=60)
    reading = asyncio.create_task(again.read_few(lambda connection: connection.scalar(text("SELECT COUNT(*) FROM n"))))
    await asyncio.sleep(0)  # the event loop runs while it waits
    assert not reading.done()
    other.close()
    assert await reading == 0
    await again.close()


COUNTER = """
import asyncio, sys
from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.engine.opening import open_database
def add(connection):
    seen = connection.exec_driver_sql("SELECT COUNT(*) FROM n").scalar()
    connection.exec_driver_sql("INSERT INTO n VALUES (?)", (seen,))
async def main():
    database = open_database(sys.argv[1], lock_wait_s=120)
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
    opened = open_database(f"sqlite:///{tmp_path}/truth.db")
    with pytest.raises(SetupError, match="damaged or not of SQLite"):
        await opened.read(names)
    await opened.close()


async def test_sqlite_says_when_the_file_cant_be_opened(tmp_path: Path) -> None:
    (tmp_path / "truth.db").mkdir()
    opened = open_database(f"sqlite:///{tmp_path}/truth.db")
    with pytest.raises(SetupError, match="can't be opened"):
        await opened.write(names)
    await opened.close()


async def test_a_thread_that_the_system_refuses_stops_no_later_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = open_database(f"sqlite+aiosqlite:///{tmp_path}/store.db")

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as full:
        full.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="can't start"):
            await database.write(lambda _: 1)

    async with asyncio.timeout(5):
        assert await database.write(lambda _: 2) == 2
    await database.close()
