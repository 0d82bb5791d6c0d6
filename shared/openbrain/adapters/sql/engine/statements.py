"""Helpers for statements: ids in chunks, placeholders, and what differs between the two databases in statements that
run too often to be compiled each time."""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, TypeVar, cast

import orjson
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    RowMapping,
    Select,
    Table,
    and_,
    literal_column,
    or_,
    true,
)
from sqlalchemy.dialects import mysql, sqlite
from sqlalchemy.sql.dml import Insert

from openbrain.adapters.sql.engine.database import SQLITE
from openbrain.domain.tasks import chunks as parts

T = TypeVar("T")
Row = TypeVar("Row", bound=tuple[Any, ...])

CHUNK = 500
"""Maximum ids per statement."""
CRC32 = "openbrain_crc32"
LOWER = "openbrain_lower"
"""Functions that SQLite lacks, by the names under which our connections register them."""

NOW_SQLITE = "CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)"
# UTC_TIMESTAMP and not UNIX_TIMESTAMP(NOW(6)), which repeats an hour when the server's summer time ends.
NOW_MARIADB = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))"
"""The database's clock in microseconds, for times on which hosts with different clocks must agree."""


def is_sqlite(connection: Connection) -> bool:
    return connection.dialect.name == SQLITE


def database_now(connection: Connection) -> ColumnElement[int]:
    """Return the database's clock as an expression of SQLAlchemy."""
    return literal_column(NOW_SQLITE if is_sqlite(connection) else NOW_MARIADB, BigInteger)


def slot(connection: Connection) -> str:
    """Return the driver's placeholder for one bound value."""
    return "?" if is_sqlite(connection) else "%s"


def slots(connection: Connection, count: int) -> str:
    """Return the placeholders of an IN list."""
    return ", ".join([slot(connection)] * count)


def listed(connection: Connection, values: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return the content of an IN list, and what to bind for it. On SQLite that is one value, so that a statement is
    prepared once for all lengths."""
    if is_sqlite(connection):
        return "SELECT value FROM json_each(?)", (orjson.dumps(values).decode(),)
    return slots(connection, len(values)), tuple(values)


def fetched(connection: Connection, statement: str, values: tuple[object, ...]) -> Sequence[Any]:
    """Run a query written for the driver and return its rows. On SQLite without SQLAlchemy, which takes longer to
    describe a result than SQLite to find a few rows."""
    if not is_sqlite(connection):
        return connection.exec_driver_sql(statement, values).fetchall()
    cursor = connection.connection.cursor()
    try:
        return cast("Sequence[Any]", cursor.execute(statement, values).fetchall())
    finally:
        cursor.close()


def read_now(connection: Connection) -> int:
    """Return the database's time in microseconds."""
    ((now,),) = fetched(connection, f"SELECT {NOW_SQLITE if is_sqlite(connection) else NOW_MARIADB}", ())
    return int(now)


def upsert(connection: Connection, table: str, fixed: Sequence[str], changing: Sequence[str]) -> str:
    """Return an INSERT of one row with these columns; if its key exists, `changing` are overwritten."""
    columns = [*fixed, *changing]
    insert = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({slots(connection, len(columns))})"  # noqa: S608 - values are bound
    if is_sqlite(connection):
        return f"{insert} ON CONFLICT DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in changing)}"
    return f"{insert} ON DUPLICATE KEY UPDATE {', '.join(f'{name} = VALUES({name})' for name in changing)}"


def chunks(items: Sequence[T], size: int = CHUNK) -> Iterator[Sequence[T]]:
    """Yield the items in parts that fit into one statement."""
    return parts(items, size)


def among(
    connection: Connection, query: Select[Any], column: ColumnElement[Any], values: Collection[Any]
) -> Iterator[Any]:
    """Yield the rows in which a column has one of these values, running the query once per chunk."""
    for some in chunks(sorted(values)):
        yield from connection.execute(query.where(column.in_(some)))


def first_of(connection: Connection, query: Select[Any], made_of: Callable[[RowMapping], T]) -> T | None:
    """Return the object made from a query's first row; None if there is no row."""
    row = connection.execute(query).mappings().first()
    return None if row is None else made_of(row)


def older_than(place: tuple[int, str] | None, at: ColumnElement[int], key: ColumnElement[str]) -> ColumnElement[bool]:
    """Return the condition that a row comes after a place (time, key) in a list sorted newest first."""
    if place is None:
        return true()
    time, last = place
    # The second bound implies the first, which lets a database start in the middle of the index.
    return and_(at <= time, or_(at < time, and_(at == time, key < last)))


def newer_than(place: tuple[int, str] | None, at: ColumnElement[int], key: ColumnElement[str]) -> ColumnElement[bool]:
    """Return the condition that a row comes after a place (time, key) in a list sorted oldest first."""
    if place is None:
        return true()
    time, last = place
    return and_(at >= time, or_(at > time, and_(at == time, key > last)))


def along(query: Select[Row], table: Table, index: str) -> Select[Row]:
    """Force the index for one page of a walk along it. Without the hint MariaDB scans the index from the workspace's
    first entry for every page."""
    return query.with_hint(table, f"FORCE INDEX ({index})", "mysql")


def insert_missing(connection: Connection, table: Table) -> Insert:
    """Return an INSERT that skips existing rows. Never IGNORE: that would swallow all other errors too."""
    if is_sqlite(connection):
        return sqlite.insert(table).on_conflict_do_nothing()
    key: Any = next(iter(table.primary_key))
    return mysql.insert(table).on_duplicate_key_update({key.name: key})
