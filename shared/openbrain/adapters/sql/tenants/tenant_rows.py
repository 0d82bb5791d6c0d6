"""The rows of a tenant: how many there are, and the end of those beside its memories, some at a time.

Rows that no index finds by their workspace are found by what they belong to: no table is walked through as a whole.
"""

from collections import Counter

from sqlalchemy import Column, Connection, Table, and_, delete, func, literal_column, select
from sqlalchemy.sql.elements import ColumnElement

from openbrain.adapters.sql.engine.statements import is_sqlite
from openbrain.adapters.sql.schema.signal_tables import (
    halt_acks,
    halts,
    signal_acks,
    signal_history,
    signals,
    webhook_dead_letters,
    webhooks,
)
from openbrain.adapters.sql.schema.tables import (
    OTHERS,
    api_keys,
    idempotency_keys,
    memories,
    memory_history,
    operations,
    recall_feedback,
    recalls,
    workspace_usage,
)

_OWNED: dict[str, tuple["Column[str]", ...]] = {
    memories.name: (memory_history.c.memory_id,),
    signals.name: (signal_history.c.signal_id, signal_acks.c.signal_id),
    halts.name: (halt_acks.c.halt_id,),
    webhooks.name: (webhook_dead_letters.c.webhook_id,),
}
"""By table, what its rows own elsewhere: the columns that name them."""
_OWNER = {
    column.table: (column, owner) for owner in (memories, signals, halts, webhooks) for column in _OWNED[owner.name]
}
_REST = (api_keys, idempotency_keys, recall_feedback, recalls, operations, workspace_usage, *OTHERS)
"""The rows that are left when its memories and their history are gone."""
_AT_ONCE = 100
"""Owners whose rows are looked for in one statement."""


def count(connection: Connection, workspace_id: str) -> dict[str, int]:
    """By table."""
    counted = {
        table: select(func.count()).select_from(table).where(_of(table, workspace_id))
        for table in (memories, memory_history, *_REST)
    }
    return {str(table.name): connection.execute(query).scalar_one() for table, query in counted.items()}


def drop(connection: Connection, workspace_id: str, keep: str, limit: int) -> Counter[str]:
    """Remove at most `limit` rows of the rest, but not the operation `keep`; none where nothing is left."""
    piece = _Piece(connection, limit)
    for table in _REST:
        if table in _OWNER:
            continue
        mine = _of(table, workspace_id)
        if table is operations:
            mine = and_(mine, table.c.id != keep)
        if table.name in _OWNED:
            piece.remove_owners(table, mine)
        else:
            piece.remove(table, mine)
    return piece.removed


def _of(table: Table, workspace_id: str) -> ColumnElement[bool]:
    if table not in _OWNER:
        return table.c.workspace_id == workspace_id
    column, owner = _OWNER[table]
    return column.in_(select(owner.c.id).where(owner.c.workspace_id == workspace_id))


class _Piece:
    """The rows that one transaction removes."""

    def __init__(self, connection: Connection, limit: int) -> None:
        self._connection, self._limit = connection, limit
        self.removed: Counter[str] = Counter()

    def remove_owners(self, table: Table, mine: ColumnElement[bool]) -> None:
        """Remove the owners' rows first."""
        some = select(table.c.id).where(mine).limit(_AT_ONCE)
        while self._left() and (ids := self._connection.scalars(some).all()):
            for column in _OWNED[table.name]:
                self.remove(column.table, column.in_(ids))
            self.remove(table, table.c.id.in_(ids))

    def remove(self, table: Table, where: ColumnElement[bool]) -> None:
        """Remove as many rows as may still go."""
        left = self._left()
        if not left:
            return
        if is_sqlite(self._connection):
            row: ColumnElement[int] = literal_column("rowid")
            these = select(row).select_from(table).where(where).limit(left).correlate(None)
            deletion = delete(table).where(row.in_(these))
        else:
            deletion = delete(table).where(where).with_dialect_options(mysql_limit=left)
        self.removed[str(table.name)] += self._connection.execute(deletion).rowcount

    def _left(self) -> int:
        return self._limit - self.removed.total()
