"""Migrations of the schema on both databases: up, down, from an older database with rows, and by several processes at
once."""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, create_engine, make_url, text
from sqlalchemy.exc import IntegrityError

from openbrain.adapters.sql.engine.opening import open_database
from openbrain.adapters.sql.schema import commands
from openbrain.adapters.sql.schema.memory_rows import INSERT_COLUMNS, MEMORY_COLUMNS, memory_from_row
from openbrain.adapters.sql.schema.tables import TURNS, memories, memory_passages, metadata
from openbrain.adapters.sql.store import SqlStore
from openbrain.adapters.sql.writes.writing import SqlMemoryWrites
from openbrain.domain.errors import SetupError, TryLater
from openbrain.ports.store.vault import VaultMemory
from openbrain.ports.store.writes import Status
from tests.servers.plugin import Starter
from tests.support.processes.forked import context
from tests.support.store.fixtures import FakeClock, memory, viewer, write
from tests.support.store.fixtures import bare_database_url as database_url
from tests.support.store.older_folder import ENDED, KEYS, LIVING, NEWEST, REVISION, unpack_older_folder
from tests.support.waiting import PATIENCE_S

__all__ = ["database_url"]

EMPTY = ("the schema is at revision none, not 0027: run `openbrain db upgrade`",)
OLD = {"text_error", "text_error_revision", "vector_error", "vector_error_revision", "title", "aliases", "identity"}


@contextmanager
def connected(url: str) -> Iterator[Connection]:
    engine = create_engine(url.replace("+aiosqlite", "").replace("+aiomysql", "+pymysql"))
    with engine.begin() as connection:
        yield connection
    engine.dispose()


def schema(connection: Connection) -> Any:
    """Everything that the database reports about its columns and indexes, except for Alembic's own table."""
    if connection.dialect.name == "sqlite":
        query = (
            "SELECT name, sql LIKE '%AUTOINCREMENT%' OR sql LIKE '%WITHOUT ROWID%' FROM sqlite_master"
            " WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
        )
        found = {
            table: (
                special,
                sorted(tuple(row)[1:] for row in connection.execute(text(f"PRAGMA table_info({table})"))),
                sorted(
                    _sqlite_index(connection, row) for row in connection.execute(text(f"PRAGMA index_list({table})"))
                ),
            )
            for table, special in connection.execute(text(query)).all()
        }
        return {table: parts for table, parts in found.items() if table != "alembic_version"}
    columns = (
        "SELECT table_name, column_name, column_type, collation_name, is_nullable, column_default, column_key, extra"
        " FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name <> 'alembic_version'"
        " ORDER BY table_name, column_name"
    )
    indexes = (
        "SELECT table_name, index_name, seq_in_index, column_name, non_unique FROM information_schema.statistics"
        " WHERE table_schema = DATABASE() AND table_name <> 'alembic_version' ORDER BY 1, 2, 3"
    )
    return [[tuple(row) for row in connection.execute(text(query))] for query in (columns, indexes)]


def _sqlite_index(connection: Connection, row: Any) -> tuple[Any, ...]:
    columns = [each[2] for each in connection.execute(text(f"PRAGMA index_info({row[1]})"))]
    # SQLite numbers the indexes that it makes for keys.
    return "" if row[1].startswith("sqlite_autoindex") else row[1], row[2], row[3], columns


def differences(connection: Connection) -> Any:
    """Return the changes that Alembic would make. Indexes of the other database are left out, since Alembic would add
    them here."""
    others = set() if connection.dialect.name == "sqlite" else {TURNS}
    opts = {"compare_type": False, "include_object": lambda _object, name, *_: name not in others}
    return compare_metadata(MigrationContext.configure(connection, opts=opts), metadata)


def test_the_steps_make_the_tables_of_today(database_url: str) -> None:
    assert commands.check(database_url) == EMPTY
    commands.upgrade(database_url)
    with connected(database_url) as connection:
        migrated = schema(connection)
        assert differences(connection) == []
    commands.downgrade(database_url, "base")
    with connected(database_url) as connection:
        assert not any(schema(connection))
        metadata.create_all(connection)
        assert schema(connection) == migrated


def test_up_down_and_up_again(database_url: str) -> None:
    for _ in range(2):
        commands.upgrade(database_url, "0001")
        assert commands.current(database_url) == "0001"
        assert "not 0027" in commands.check(database_url)[0]
        commands.upgrade(database_url)
        commands.upgrade(database_url)
        assert commands.current(database_url) == "0027"
        assert not any("revision" in problem for problem in commands.check(database_url))
        commands.downgrade(database_url, "0001")
        commands.downgrade(database_url, "base")
        assert commands.current(database_url) is None


async def test_an_older_schema_keeps_what_it_holds(database_url: str, clock: FakeClock) -> None:
    kept = [memory(f"memory {number} \N{BRAIN}", tags=("a", "b"), metadata={"n": number}) for number in range(50)]
    old_columns = [name for name in MEMORY_COLUMNS if name not in OLD]
    commands.upgrade(database_url, "0001")
    with connected(database_url) as connection:
        _insert_old(connection, kept)
    commands.upgrade(database_url)
    with connected(database_url) as connection:
        query = (
            memories.select().with_only_columns(*[memories.c[name] for name in MEMORY_COLUMNS]).order_by(memories.c.id)
        )
        assert [memory_from_row(row) for row in connection.execute(query)] == sorted(kept, key=lambda each: each.id)
    database = open_database(database_url)
    (outcome,) = await SqlMemoryWrites(database, clock).remember([write("after the upgrade")])
    await database.close()
    assert outcome.memory is not None
    commands.downgrade(database_url, "0001")
    with connected(database_url) as connection:
        listed = ", ".join(old_columns)
        found = connection.execute(text(f"SELECT {listed} FROM memories ORDER BY id")).all()
    assert len(found) == 51


def _insert_old(connection: Connection, kept: list[Any]) -> None:
    """Insert rows as the older version wrote them: without the columns that were added later."""
    columns = [name for name in INSERT_COLUMNS if name not in OLD]
    statement = memories.insert().inline()
    for each in kept:
        values = {name: getattr(each, name, None) for name in columns} | {"tags": '["a","b"]', "dedupe_key": each.id}
        values["metadata"] = f'{{"n":{each.metadata["n"]}}}'
        connection.execute(statement.values({name: values[name] for name in columns}))


async def test_rows_of_an_earlier_version_are_taken_over(database_url: str, clock: FakeClock, tmp_path: Path) -> None:
    commands.upgrade(database_url, REVISION)
    file = unpack_older_folder(tmp_path / "older") / "truth.sqlite3"
    with closing(sqlite3.connect(file)) as older, connected(database_url) as connection:
        copy_rows(older, connection)

    commands.upgrade(database_url)

    database = open_database(database_url)
    store = SqlStore(database, clock)
    rows = await store.memories.rows([*LIVING, *ENDED])
    assert {row.id: row.content for row in rows.values() if row.reason is None} == LIVING
    assert {row.id: (row.reason, row.content) for row in rows.values() if row.reason} == ENDED
    assert await store.api_keys.open_keys(list(KEYS), clock.now()) == KEYS
    newer = write("Deploys on Fridays.", workspace_id="default", viewer=viewer("default"), supersedes_id=NEWEST)
    (outcome,) = await store.writes.remember([newer])
    await database.close()
    assert outcome.status is Status.CREATED


async def test_the_markers_of_an_earlier_version_name_no_project(database_url: str, clock: FakeClock) -> None:
    commands.upgrade(database_url, "0024")
    with connected(database_url) as connection:
        connection.execute(text("INSERT INTO vault_memories VALUES ('default', 'a', 'm', 'id', 'hash', 1)"))
    commands.upgrade(database_url)
    database = open_database(database_url)
    rows = await SqlStore(database, clock).vault.vault_memories("default")
    await database.close()
    assert rows == [VaultMemory(arc="a", marker="m", memory_id="id", content_hash="hash", project=None)]


def copy_rows(older: sqlite3.Connection, connection: Connection) -> None:
    """Copy every row into the tables of the same names and columns."""
    quote = connection.dialect.identifier_preparer.quote
    for (table,) in older.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        if table in {"alembic_version", "sqlite_sequence"}:
            continue
        rows = older.execute(f"SELECT * FROM {quote(table)}")
        columns = [column for column, *_ in rows.description]
        names = ", ".join(map(quote, columns))
        values = ", ".join(f":p{number}" for number in range(len(columns)))
        for row in rows:
            statement = text(f"INSERT INTO {quote(table)} ({names}) VALUES ({values})")
            connection.execute(statement, {f"p{number}": value for number, value in enumerate(row)})


def test_a_rebuilt_table_keeps_its_rows(database_url: str) -> None:
    row = {"memory_id": "a", "model": "m", "passage": 0, "revision": 7, "input_hash": "h"}
    rows = [row, row | {"passage": 1}, row | {"memory_id": "b"}]
    commands.upgrade(database_url, "0025")
    with connected(database_url) as connection:
        connection.execute(memory_passages.insert(), rows)
    for step in (partial(commands.upgrade, database_url), partial(commands.downgrade, database_url, "0025")):
        step()
        with connected(database_url) as connection:
            found = connection.execute(memory_passages.select().order_by(*memory_passages.primary_key)).mappings().all()
        assert [dict(each) for each in found] == rows
        with pytest.raises(IntegrityError), connected(database_url) as connection:
            connection.execute(memory_passages.insert(), [row])


def test_a_newer_schema_is_left_alone(database_url: str) -> None:
    commands.upgrade(database_url)
    with connected(database_url) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    assert "install the newer OpenBrain" in commands.check(database_url)[0]
    for change in (commands.upgrade, lambda url: commands.downgrade(url, "0001")):
        with pytest.raises(SetupError, match="9999"):
            change(database_url)


def test_services_wait_for_their_schema_and_run_on_a_later_one(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else none of them could start on the schema of the next version: neither a further replica, nor by going back."""
    assert "openbrain db upgrade" in commands.wait_for_schema(database_url, 0)[0]
    commands.upgrade(database_url, "0001")
    upgrading = SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: commands.upgrade(database_url))
    monkeypatch.setattr(commands, "time", upgrading)
    assert commands.wait_for_schema(database_url, 60) == ()
    with connected(database_url) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    assert commands.wait_for_schema(database_url, 0) == ()


def test_a_migration_that_was_killed_is_repeated(mariadb_url: str) -> None:
    """MariaDB commits each change of a table by itself, before the migration is recorded."""
    steps = [step for step in commands._known() if step is not None][::-1]
    commands.upgrade(mariadb_url, steps[0])
    for before, step in pairwise(steps):
        commands.upgrade(mariadb_url, step)
        with connected(mariadb_url) as connection:
            connection.execute(text("UPDATE alembic_version SET version_num = :before"), {"before": before})
    commands.upgrade(mariadb_url)
    with connected(mariadb_url) as connection:
        assert differences(connection) == []


def test_an_upgrade_lets_others_pass_while_a_backup_reads(mariadb_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A waiting table lock blocks all later requests for the table."""
    commands.upgrade(mariadb_url, "0020")
    engine = create_engine(make_url(mariadb_url).set(drivername="mysql+pymysql"))
    with engine.connect() as backup:
        backup.execute(text("SELECT COUNT(*) FROM memories"))
        passing = SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: backup.commit())
        monkeypatch.setattr(commands, "time", passing)
        monkeypatch.setattr(commands, "_TABLE_LOCK_S", 1)
        commands.upgrade(mariadb_url)
    engine.dispose()
    assert commands.current(mariadb_url) == commands._known()[0]


def test_a_table_of_another_program_is_not_taken_for_ours(mariadb_url: str) -> None:
    with connected(mariadb_url) as connection:
        connection.execute(text("CREATE TABLE leases (id INTEGER PRIMARY KEY)"))
    with pytest.raises(SetupError, match="a database of its own"):
        commands.upgrade(mariadb_url)


def test_several_processes_upgrade_at_once(database_url: str) -> None:
    running = [context().Process(target=commands.upgrade, args=(database_url,), daemon=True) for _ in range(4)]
    for process in running:
        process.start()
    for process in running:
        process.join(PATIENCE_S)
    assert [process.exitcode for process in running] == [0, 0, 0, 0]
    assert commands.current(database_url) == "0027"


@pytest.mark.servers("mariadb")
def test_waiting_ends_when_the_database_answers(private_server: Starter) -> None:
    server = private_server("mariadb")
    server.kill()
    with pytest.raises(TryLater, match="can't be reached"):
        commands.wait(server.url, 0.5)
    starter = threading.Thread(target=server.start)
    starter.start()
    commands.wait(server.url, PATIENCE_S)
    starter.join()
    assert commands.check(server.url) == EMPTY


def test_a_refused_password_is_not_waited_for(mariadb_url: str) -> None:
    wrong = make_url(mariadb_url).set(password="hidden").render_as_string(hide_password=False)
    calls: list[Callable[[], object]] = [
        lambda: commands.wait(wrong, 60),
        lambda: commands.upgrade(wrong),
        lambda: commands.check(wrong),
    ]
    for call in calls:
        with pytest.raises(SetupError, match="check user, password") as caught:
            call()
        assert "hidden" not in str(caught.value)
