"""Rows that this process wrote a moment ago, for those of its services that index them: they need not read them whole.

Only whether such a row still stands is asked: whatever is indexed changes with its revision, or with the time of its
change where a database was put back. A process that indexes nothing keeps none.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from sqlalchemy import Connection

from openbrain.adapters.sql.engine.statements import chunks, slots
from openbrain.adapters.sql.memories.whole_rows import read_rows
from openbrain.domain.memory import Memory

_MOST = 4096
_LONG_CHARS = 8_000
"""A longer content is not kept."""
_STANDING = "SELECT id, revision, version, updated_at, passages_high FROM memories WHERE id IN ({these})"


class RecentRows:
    """The newest of this process, oldest first; all methods belong to one event loop."""

    def __init__(self) -> None:
        self._rows: dict[str, Memory] = {}
        self._wanted = False

    def keep(self, memories: Iterable[Memory]) -> None:
        """Keep rows that were committed just now."""
        if not self._wanted:
            return
        self._rows.update({memory.id: memory for memory in memories if len(memory.content) <= _LONG_CHARS})
        while len(self._rows) > _MOST:
            del self._rows[next(iter(self._rows))]

    def among(self, ids: Sequence[str]) -> Mapping[str, Memory]:
        """The rows of these ids that are kept."""
        self._wanted = True
        return {id_: row for id_ in ids if (row := self._rows.get(id_)) is not None}

    def settle(self, kept: Mapping[str, Memory], now: Mapping[str, Memory]) -> None:
        """Drop rows that have moved on."""
        for memory_id, row in kept.items():
            current = now.get(memory_id)
            if current is None or (current.revision, current.updated_at) != (row.revision, row.updated_at):
                self._rows.pop(memory_id, None)


def indexable(connection: Connection, ids: Sequence[str], kept: Mapping[str, Memory]) -> dict[str, Memory]:
    """The rows by id: those kept where they still stand so, else as they are read."""
    fresh: dict[str, Memory] = {}
    for some in chunks(list(kept)):
        statement = _STANDING.format(these=slots(connection, len(some)))
        standing = connection.exec_driver_sql(statement, tuple(some)).fetchall()
        for memory_id, revision, version, updated_at, high in standing:
            row = kept[memory_id]
            if (row.revision, row.version, row.updated_at) == (revision, version, updated_at):
                # With one passage there is nothing beyond it to remove, as with none: the row is as good as it was.
                fresh[memory_id] = row if high <= 1 else replace(row, passages_high=high)
    rest = [id_ for id_ in ids if id_ not in fresh]
    return fresh | {row.id: row for row in read_rows(connection, rest)} if rest else fresh
