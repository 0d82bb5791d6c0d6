"""Rows of a table in a database: a MariaDB or MySQL server, or an SQLite file. Read only."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from openbrain.domain.errors import Invalid, SetupError
from openbrain_cli.memories.transfer.foreign.rows import Row, Table

_SERVERS = {"mysql", "mariadb"}
_MAGIC = b"SQLite format 3\0"
_FETCHED = 500


def is_sqlite(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def sqlite_tables(path: Path) -> set[str]:
    with closing(_opened(path)) as connection:
        return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def sqlite_rows(path: Path, query: str) -> Iterator[Row]:
    with closing(_opened(path)) as connection:
        connection.row_factory = sqlite3.Row
        for row in connection.execute(query):
            yield dict(row)


def table_at(url: str, table: str, name: str) -> Table:
    """The store's table at `mysql://user:password@host:port/database` or `sqlite:///path`."""
    parts = urlsplit(url)
    scheme = parts.scheme.partition("+")[0]
    query = f"SELECT * FROM {table}"  # noqa: S608 - the name is one of ours
    if scheme == "sqlite":
        path = Path(unquote(parts.path.removeprefix("/")))
        if not path.is_file() or not is_sqlite(path):
            raise Invalid("--database", "names no SQLite file: sqlite:///relative/path or sqlite:////absolute/path")
        return Table(name, path.name, partial(sqlite_rows, path, query))
    if scheme not in _SERVERS:
        raise Invalid("--database", "must begin with mysql://, mariadb:// or sqlite://")
    if not parts.hostname or not parts.path.strip("/"):
        raise Invalid("--database", "must be mysql://USER:PASSWORD@HOST:PORT/DATABASE")
    return Table(name, f"{parts.hostname}{parts.path}", partial(_server_rows, url, query))


def _opened(path: Path) -> sqlite3.Connection:
    try:
        return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    except sqlite3.Error as error:
        raise SetupError(f"{path} can't be opened: {error}") from None


def _server_rows(url: str, query: str) -> Iterator[Row]:
    import pymysql
    from pymysql.cursors import SSDictCursor

    parts = urlsplit(url)
    named: dict[str, Any] = {
        "host": parts.hostname,
        "port": parts.port or 3306,
        "user": unquote(parts.username or ""),
        "password": unquote(parts.password or ""),
        "database": unquote(parts.path.strip("/")),
    }
    try:
        connection = pymysql.connect(**named, charset="utf8mb4", cursorclass=SSDictCursor, connect_timeout=10)
    except pymysql.Error as error:
        raise SetupError(f"the database can't be reached: {error.args[-1]}") from None
    with connection, connection.cursor() as cursor:
        cursor.execute("SET time_zone = '+00:00'")
        try:
            cursor.execute(query)
        except pymysql.Error as error:
            raise SetupError(f"the table can't be read: {error.args[-1]}") from None
        while some := cursor.fetchmany(_FETCHED):
            yield from some
