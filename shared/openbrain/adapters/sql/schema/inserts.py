"""INSERT statements as text for the driver: created once from the tables, used with plain tuples."""

from collections.abc import Iterator, Sequence
from functools import cache
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, Table, exists, select

from openbrain.adapters.sql.engine.statements import insert_missing, is_sqlite
from openbrain.adapters.sql.schema.memory_rows import INSERT_COLUMNS
from openbrain.adapters.sql.schema.tables import memories, memory_history

Row = tuple[Any, ...]

_TEXTS: dict[tuple[str, str, bool, Sequence[str]], str] = {}
_NOT_YET = {
    *("archived_at", "deleted_at", "reason", "indexed_at", "text_revision", "vector_revision", "passages_high"),
    *("text_error", "text_error_revision", "vector_error", "vector_error_revision"),
}
"""Columns without a value in a new memory: the table's defaults are cheaper than values."""
_NEW_COLUMNS = tuple(name for name in INSERT_COLUMNS if name not in _NOT_YET)
_new = itemgetter(*(INSERT_COLUMNS.index(name) for name in _NEW_COLUMNS))
_ID, _CONTENT = _NEW_COLUMNS.index("id"), _NEW_COLUMNS.index("content")
_HAS_HISTORY = exists().where(memory_history.c.memory_id == memories.c.id)
# A single column: the driver parses the description of each.
_NEW_TEXT = "IF(EXISTS (SELECT 1 FROM memory_history WHERE memory_history.memory_id = memories.id), '', memories.id)"
_STATEMENT_CHARS = 2_000_000


def insert_rows(connection: Connection, table: Table, rows: Sequence[Row], *, missing: bool = False) -> int:
    """Insert rows of all columns, in the table's order, except columns that the database numbers or computes.

    With `missing`, rows whose id or unique key exists are skipped. Return the driver's count of inserted rows; with
    `missing` it is correct on SQLite only.
    """
    return _insert(connection, _text(connection, table, _all_columns(table), missing=missing), rows) if rows else 0


def insert_memories(connection: Connection, rows: Sequence[Row]) -> set[str]:
    """Insert rows of `INSERT_COLUMNS` unless their id or duplicate key exists; return the ids of the new ones.

    A row with our id that has history is not new: an earlier attempt wrote it, and only its response was lost.
    """
    rows = [_new(row) for row in rows]
    ids = {row[_ID] for row in rows}
    text = _text(connection, memories, _NEW_COLUMNS, missing=True)
    if is_sqlite(connection):
        if _insert(connection, text, rows) == len(rows):
            return ids
        return set(connection.scalars(select(memories.c.id).where(memories.c.id.in_(ids), ~_HAS_HISTORY)))
    # MariaDB's counts don't help, but it can return the row now stored for each: one round trip less than a query.
    before, values, after = text.partition(_one_row(rows))
    inserted: set[str] = set()
    for some in _slices(rows):
        statement = f"{before}{', '.join([values] * len(some))}{after} RETURNING {_NEW_TEXT}"
        flat = tuple(value for row in some for value in row)
        inserted.update(row[0] for row in connection.exec_driver_sql(statement, flat).fetchall())
    return inserted & ids


def _insert(connection: Connection, text: str, rows: Sequence[Row]) -> int:
    # A single row is passed as it is: the drivers handle lists more slowly.
    return connection.exec_driver_sql(text, rows[0] if len(rows) == 1 else list(rows)).rowcount


def _slices(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """Yield parts whose statement stays far below the server's limit (16 MiB by default)."""
    start = size = 0
    for index, row in enumerate(rows):
        size += len(row[_CONTENT]) + 2000
        if size > _STATEMENT_CHARS:
            yield rows[start:index]
            start, size = index, len(row[_CONTENT]) + 2000
    yield rows[start:]


def _one_row(rows: Sequence[Row]) -> str:
    return f"({', '.join(['%s'] * len(rows[0]))})"


@cache
def _all_columns(table: Table) -> Sequence[str]:
    written = (column for column in table.columns if column.computed is None)
    return tuple(column.name for column in written if column is not table.autoincrement_column)


def _text(connection: Connection, table: Table, columns: Sequence[str], *, missing: bool) -> str:
    key = connection.dialect.name, table.name, missing, columns
    return _TEXTS.get(key) or _TEXTS.setdefault(key, _compiled(connection, table, columns, missing=missing))


def _compiled(connection: Connection, table: Table, columns: Sequence[str], *, missing: bool) -> str:
    statement = insert_missing(connection, table) if missing else table.insert()
    return str(statement.inline().compile(dialect=connection.dialect, column_keys=columns))
