"""Databases that are created once for many tests."""

import asyncio
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pymysql
import pytest
from sqlalchemy import Connection, create_engine
from sqlalchemy.engine import make_url

from openbrain.adapters.sql.engine.opening import open_database
from tests.servers.mariadb_server import DATABASE, create_database, drop_database
from tests.servers.processes.process import Server
from tests.support.store.schema import make_tables

_LOCK_WAIT_S = 10


class MariadbTables:
    """One MariaDB database with the current tables, emptied between tests."""

    def __init__(self, server: Server, name: str) -> None:
        self._server, self._name = server, name
        self.url = ""
        self._make()

    def _make(self) -> None:
        self.url = create_database(self._server, self._name)
        url = make_url(self.url)
        engine = create_engine(url.set(drivername="mysql+pymysql"))
        with engine.begin() as connection:
            make_tables(connection)
        engine.dispose()
        self._connection = pymysql.connect(
            host=url.host,
            port=url.port or 0,
            user=url.username,
            password=url.password or "",
            database=url.database,
            autocommit=True,
            init_command=f"SET foreign_key_checks = 0, innodb_lock_wait_timeout = {_LOCK_WAIT_S}",
        )
        self._tables = self._ask("SHOW TABLES")

    def empty(self) -> None:
        """Empty the tables; recreate them if a test changed them or still locks their rows."""
        try:
            if self._ask("SHOW TABLES") != self._tables:
                raise ValueError("a test changed the tables")  # noqa: TRY301 - the same end as a held lock
            filled = self._ask(
                " UNION ALL ".join(f"(SELECT '{table}' FROM `{table}` LIMIT 1)" for (table,) in self._tables)
            )
            for (table,) in filled:
                self._ask(f"DELETE FROM `{table}`")
                self._ask(f"ALTER TABLE `{table}` AUTO_INCREMENT = 1")
        except (pymysql.MySQLError, ValueError):
            self.drop()
            self._make()

    def drop(self) -> None:
        self._connection.close()
        drop_database(self._server, self._name)

    def _ask(self, statement: str) -> Sequence[tuple[Any, ...]]:
        with self._connection.cursor() as cursor:
            cursor.execute(statement)
            return tuple(cursor.fetchall())


@contextmanager
def filled(
    kind: str, request: pytest.FixtureRequest, folder: Path, fill: Callable[[Connection], None]
) -> Iterator[str]:
    """Yield the URL of a database filled by `fill`, for tests that only read it. `kind`: sqlite or mariadb."""
    tables = None
    url = f"sqlite+aiosqlite:///{folder}/truth.db"
    if kind == "mariadb":
        tables = MariadbTables(request.getfixturevalue("mariadb_server"), f"{DATABASE}_{uuid.uuid4().hex[:12]}")
        url = tables.url

    async def make() -> None:
        database = open_database(url)
        await database.write(make_tables)
        await database.write(fill)
        await database.close()

    asyncio.run(make())
    try:
        yield url
    finally:
        if tables is not None:
            tables.drop()
