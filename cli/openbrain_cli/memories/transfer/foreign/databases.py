"""Rows of a table in a database: a MariaDB or MySQL server, or an SQLite file. Read only."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from openbrain.domain.errors import Invalid, SetupError
from openbrain_cli.memories.transfer.foreign.rows import Row, Table

_SERVERS = {"mysql", "mariadb"}
_MAGIC = b"SQLite format 3\0"
_FETCHED = 500


def is_sqlite(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def sqlite_tables(path: Path) -> set[str]:
    with _opened(path) as connection:
        return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def sqlite_rows(path: Path, query: str) -> Iterator[Row]:
    with _opened(path) as connection:
        connection.row_factory = sqlite3.Row
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        for row in connection.execute(query):
            yield dict(row)


def table_at(url: str, table: str, name: str) -> Table:
    """The store's table at `mysql://user:password@host:port/database` or `sqlite:///path`."""
    parts = _parts(url)
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


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            yield connection
    except sqlite3.Error as error:
        raise SetupError(f"{path} can't be read: {error}") from None


def _parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises an error if it is no number
    except ValueError:
        raise Invalid("--database", "is no URL: its host or port can't be read") from None
    return parts


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
        try:
            cursor.execute("SET time_zone = '+00:00'")
            cursor.execute(query)
            while some := cursor.fetchmany(_FETCHED):
                yield from some
        except pymysql.Error as error:
            raise SetupError(f"the table can't be read: {error.args[-1]}") from None
