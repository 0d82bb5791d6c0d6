"""Complete memories: read in the cheapest way for each database, or kept for a moment by the process that wrote them,
for its own indexing services.

For a kept row, only whether it is current is queried: whatever is indexed changes together with the revision, or, after
a database restore, with the time of change. A process that indexes nothing keeps none.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Connection, func, select

from openbrain.adapters.sql.engine.statements import chunks, fetched, is_sqlite, listed, slots
from openbrain.adapters.sql.schema.memory_rows import MEMORY_COLUMNS, WHOLE, memory_from_row
from openbrain.adapters.sql.schema.tables import TURNS, memories
from openbrain.domain.memory import Memory

_CONFIDENCE = MEMORY_COLUMNS.index("confidence")
# MariaDB's driver takes a microsecond or more per column, and there are many: so the server packs them into one
# (numbers stay exact, strings complete). That takes a third of the time for 256 rows.
_PACKED: Sequence[ColumnElement[Any]] = [func.json_array(*WHOLE)]
_NAMES = ", ".join(MEMORY_COLUMNS)
_MOST = 4096
_LONG_CHARS = 8_000
"""Rows with longer contents are not kept."""
_REVISIONS = "SELECT id, revision, version, updated_at, passages_high FROM memories WHERE id IN ({these})"


def memory_columns(connection: Connection) -> Sequence[ColumnElement[Any]]:
    return WHOLE if is_sqlite(connection) else _PACKED


def memory_text(connection: Connection) -> str:
    """Return the columns to select in a statement written as text."""
    return _NAMES if is_sqlite(connection) else f"JSON_ARRAY({_NAMES})"


def to_memories(connection: Connection, rows: Iterable[Sequence[Any]]) -> list[Memory]:
    """Convert rows with the columns `memory_columns`."""
    if is_sqlite(connection):
        return [memory_from_row(row) for row in rows]
    return [memory_from_row(_unpacked(row[0])) for row in rows]


def read_rows(connection: Connection, ids: Sequence[str], *, turns: bool = False) -> list[Memory]:
    """Read complete memories, in no order. `turns`: only memories with a turn."""
    columns = memory_text(connection)
    indexed = f" INDEXED BY {TURNS}" if turns and is_sqlite(connection) else ""
    among = " AND turn IS NOT NULL" if turns else ""
    complete: list[Memory] = []
    for some in chunks(ids):
        # By primary key only: with another condition SQLite uses that one's index and reads a whole workspace.
        known, bound = listed(connection, some)
        statement = f"SELECT {columns} FROM memories{indexed} WHERE id IN ({known}){among}"  # noqa: S608 - our own names
        complete.extend(to_memories(connection, fetched(connection, statement, bound)))
    return complete


def _unpacked(packed: str) -> list[Any]:
    values: list[Any] = orjson.loads(packed)
    # JSON has an integer for a float without fraction.
    values[_CONFIDENCE] = float(values[_CONFIDENCE])
    return values


def locked_rows(connection: Connection, where: ColumnElement[bool]) -> list[Memory]:
    """Return complete memories, locked in the order of their ids until the transaction ends."""
    query = select(*WHOLE).where(where).order_by(memories.c.id).with_for_update()
    return [memory_from_row(row) for row in connection.execute(query)]


class RecentRows:
    """The rows last written by this process, oldest first. Use it from one event loop only."""

    def __init__(self) -> None:
        self._rows: dict[str, Memory] = {}
        self._wanted = False

    def keep(self, memories: Iterable[Memory]) -> None:
        """Keep rows that have just been committed."""
        if not self._wanted:
            return
        self._rows.update({memory.id: memory for memory in memories if len(memory.content) <= _LONG_CHARS})
        while len(self._rows) > _MOST:
            del self._rows[next(iter(self._rows))]

    def among(self, ids: Sequence[str]) -> Mapping[str, Memory]:
        """Return the kept rows among these ids. From the first call on rows are kept."""
        self._wanted = True
        return {id_: row for id_ in ids if (row := self._rows.get(id_)) is not None}

    def settle(self, kept: Mapping[str, Memory], now: Mapping[str, Memory]) -> None:
        """Drop kept rows that are outdated."""
        for memory_id, row in kept.items():
            current = now.get(memory_id)
            if current is None or (current.revision, current.updated_at) != (row.revision, row.updated_at):
                self._rows.pop(memory_id, None)


def indexable(connection: Connection, ids: Sequence[str], kept: Mapping[str, Memory]) -> dict[str, Memory]:
    """Return the rows by id: kept ones if they are current, otherwise from the database."""
    fresh: dict[str, Memory] = {}
    for some in chunks(list(kept)):
        statement = _REVISIONS.format(these=slots(connection, len(some)))
        for memory_id, revision, version, updated_at, high in fetched(connection, statement, tuple(some)):
            row = kept[memory_id]
            if (row.revision, row.version, row.updated_at) == (revision, version, updated_at):
                # One passage leaves no others to remove, like none: the kept row can be used unchanged.
                fresh[memory_id] = row if high <= 1 else row._replace(passages_high=high)
    rest = [id_ for id_ in ids if id_ not in fresh]
    return fresh | {row.id: row for row in read_rows(connection, rest)} if rest else fresh
