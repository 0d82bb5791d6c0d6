"""Opening a database by its URL, and what it reports about itself."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import Connection

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.engine.opening import open_database
from openbrain.adapters.sql.schema import commands
from openbrain.adapters.sql.schema.health import examine
from openbrain.adapters.sql.store import SqlStore, open_store
from openbrain.domain.errors import SetupError, TryLater
from openbrain.domain.ids import uuid7
from openbrain.ports.store.store import Store
from openbrain.settings import Truth as TruthSettings
from tests.support.store.fixtures import START, FakeClock, write
from tests.support.store.fixtures import bare_database_url as database_url

__all__ = ["database_url"]


@pytest.fixture
async def made(database_url: str, clock: FakeClock) -> AsyncIterator[SqlStore]:
    """A store whose schema was made by the command that users run."""
    await asyncio.to_thread(commands.upgrade, database_url)
    store = SqlStore(open_database(database_url), clock)
    yield store
    await store.close()


async def change(database_url: str, statement: str) -> None:
    database = open_database(database_url)
    try:
        await database.write(lambda connection: connection.exec_driver_sql(statement).rowcount)
    finally:
        await database.close()


async def test_a_sound_database_has_no_problems(made: SqlStore, database_url: str) -> None:
    product, version, found = await made.check()
    # The tests' server is configured to trade safety at a power cut for speed, and is reported for it.
    problems = tuple(problem for problem in found if "innodb_flush_log_at_trx_commit" not in problem)

    assert product == ("SQLite" if database_url.startswith("sqlite") else "MariaDB")
    assert version[0].isdigit()
    assert problems == ()


async def test_check_tells_of_a_missing_column(made: SqlStore, database_url: str) -> None:
    await change(database_url, "ALTER TABLE api_keys DROP COLUMN agent_id")

    _, _, problems = await made.check()
    assert any("openbrain db upgrade" in problem for problem in problems)


async def test_check_tells_of_an_older_schema(made: SqlStore, database_url: str) -> None:
    await asyncio.to_thread(commands.downgrade, database_url, "base")

    (problem,) = (await made.check())[2]
    assert "openbrain db upgrade" in problem


async def test_check_tells_of_a_newer_schema(made: SqlStore, database_url: str) -> None:
    await change(database_url, "UPDATE alembic_version SET version_num = 'f00'")

    (problem,) = (await made.check())[2]
    assert "f00" in problem


@pytest.mark.parametrize("database_url", ["mariadb"], indirect=True)
async def test_check_tells_of_names_compared_loosely(made: SqlStore, database_url: str) -> None:
    await change(database_url, "ALTER TABLE memories MODIFY org VARCHAR(128) COLLATE utf8mb4_general_ci NOT NULL")

    _, _, problems = await made.check()
    assert any(problem.startswith("memories.org compares by utf8mb4_general_ci") for problem in problems)


@pytest.mark.parametrize("database_url", ["mariadb"], indirect=True)
async def test_check_tells_of_a_server_that_cuts_values(database: Database) -> None:
    def loosen(connection: Connection) -> tuple[str, str, tuple[str, ...]]:
        connection.exec_driver_sql("SET SESSION sql_mode = ''")
        try:
            return examine(connection)
        finally:
            connection.exec_driver_sql("SET SESSION sql_mode = 'STRICT_ALL_TABLES'")

    _, _, problems = await database.write(loosen)
    assert any("sql_mode" in problem for problem in problems)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_check_tells_of_a_file_that_forgets(database: Database) -> None:
    def careless(connection: Connection) -> tuple[str, str, tuple[str, ...]]:
        # SQLite can't change these settings within a transaction.
        connection.exec_driver_sql("COMMIT")
        connection.exec_driver_sql("PRAGMA synchronous = OFF")
        connection.exec_driver_sql("PRAGMA journal_mode = MEMORY")
        return examine(connection)

    _, _, problems = await database.write(careless)
    assert [problem.split()[0] for problem in problems] == ["journal_mode", "synchronous"]


async def test_embedded_is_a_file_in_the_data_folder(tmp_path: Path, clock: FakeClock) -> None:
    folder = tmp_path / "a b%41?#ü"
    store: Store = open_store(TruthSettings(), folder, clock)
    assert not folder.exists()
    try:
        await store.check()
    finally:
        await store.close()

    assert (folder / "truth.sqlite3").exists()


async def test_a_url_opens_what_it_names(
    database_url: str, database: Database, tmp_path: Path, clock: FakeClock
) -> None:
    store = open_store(TruthSettings(url=database_url), tmp_path / "none", clock)
    try:
        (outcome,) = await store.writes.remember([write()])
        assert outcome.memory is not None
        assert await store.memories.rows([outcome.memory.id]) == {outcome.memory.id: outcome.memory}
    finally:
        await store.close()
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    "url",
    [
        "",
        "embeded",
        "postgresql://h/d",
        "mysql+pymysql://u:hunter2@h/d",
        "sqlite+aiosqlite://",
        "mysql+aiomysql://h",
        "/a",
    ],
)
def test_another_url_is_refused_with_the_forms(url: str, tmp_path: Path, clock: FakeClock) -> None:
    with pytest.raises(SetupError) as refused:
        open_store(TruthSettings(url=url), tmp_path, clock)

    told = str(refused.value)
    assert "embedded" in told
    assert "sqlite+aiosqlite:///" in told
    assert "mysql+aiomysql://" in told
    assert "hunter2" not in told


async def test_a_server_that_is_away_is_worth_another_try(tmp_path: Path, clock: FakeClock) -> None:
    store = open_store(TruthSettings(url="mysql+aiomysql://u:hunter2@127.0.0.1:1/openbrain"), tmp_path, clock)
    try:
        with pytest.raises(TryLater) as refused:
            await store.memories.rows([uuid7(START)])
        assert "hunter2" not in str(refused.value)
    finally:
        await store.close()
