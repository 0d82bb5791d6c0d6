"""Reading whole memories of a query, by the way that costs the least on each database."""

from collections.abc import Iterable, Sequence
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Connection, func

from openbrain.adapters.sql.engine.statements import chunks, is_sqlite, slots
from openbrain.adapters.sql.schema.memory_rows import MEMORY_COLUMNS, WHOLE, memory_from_row
from openbrain.domain.memory import Memory

_CONFIDENCE = MEMORY_COLUMNS.index("confidence")
# MariaDB's driver takes a microsecond and more for each column that it reads, and there are many: the server packs them
# into one (numbers stay exact, strings whole). A third of the time for 256 rows.
_PACKED: Sequence[ColumnElement[Any]] = [func.json_array(*WHOLE)]
_NAMES = ", ".join(MEMORY_COLUMNS)


def memory_columns(connection: Connection) -> Sequence[ColumnElement[Any]]:
    return WHOLE if is_sqlite(connection) else _PACKED


def memory_text(connection: Connection) -> str:
    """The columns to select, for a statement that is written as text."""
    return _NAMES if is_sqlite(connection) else f"JSON_ARRAY({_NAMES})"


def to_memories(connection: Connection, rows: Iterable[Sequence[Any]]) -> list[Memory]:
    """From rows of `memory_columns`."""
    if is_sqlite(connection):
        return [memory_from_row(row) for row in rows]
    return [memory_from_row(_unpacked(row[0])) for row in rows]


def read_rows(connection: Connection, ids: Sequence[str], *, turns: bool = False) -> list[Memory]:
    """Read whole memories, in no order. `turns`: without those that have no turn."""
    columns = memory_text(connection)
    among = " AND turn IS NOT NULL" if turns else ""
    memories: list[Memory] = []
    for some in chunks(ids):
        # By primary key alone: beside a condition SQLite picks that one's index and reads a whole workspace.
        known = f"id IN ({slots(connection, len(some))})"
        statement = f"SELECT {columns} FROM memories WHERE {known}{among}"  # noqa: S608 - our own names
        memories.extend(to_memories(connection, connection.exec_driver_sql(statement, tuple(some)).fetchall()))
    return memories


def _unpacked(packed: str) -> list[Any]:
    values: list[Any] = orjson.loads(packed)
    # A whole number comes as an integer.
    values[_CONFIDENCE] = float(values[_CONFIDENCE])
    return values
