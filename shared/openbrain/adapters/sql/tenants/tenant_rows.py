"""The rows of a tenant: counts, and deletion of everything but its memories, some rows at a time.

Rows without an index on the workspace are found by their owner's id, so no table is scanned.
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
"""By table: the columns elsewhere that refer to its rows."""
_OWNER = {
    column.table: (column, owner) for owner in (memories, signals, halts, webhooks) for column in _OWNED[owner.name]
}
_REST = (api_keys, idempotency_keys, recall_feedback, recalls, operations, workspace_usage, *OTHERS)
"""The tables that are deleted after the memories and their history."""
_AT_ONCE = 100
"""Owners per statement whose rows are deleted."""


def count(connection: Connection, workspace_id: str) -> dict[str, int]:
    """Count the rows by table."""
    counted = {
        table: select(func.count()).select_from(table).where(_of(table, workspace_id))
        for table in (memories, memory_history, *_REST)
    }
    return {str(table.name): connection.execute(query).scalar_one() for table, query in counted.items()}


def drop(connection: Connection, workspace_id: str, keep: str, limit: int) -> Counter[str]:
    """Delete at most `limit` of the remaining rows, but not the operation `keep`. Return the counts by table; empty if
    nothing is left."""
    deletion = _LimitedDeletion(connection, limit)
    for table in _REST:
        if table in _OWNER:
            continue
        mine = _of(table, workspace_id)
        if table is operations:
            mine = and_(mine, table.c.id != keep)
        if table.name in _OWNED:
            deletion.remove_owners(table, mine)
        else:
            deletion.remove(table, mine)
    return deletion.removed


def _of(table: Table, workspace_id: str) -> ColumnElement[bool]:
    if table not in _OWNER:
        return table.c.workspace_id == workspace_id
    column, owner = _OWNER[table]
    return column.in_(select(owner.c.id).where(owner.c.workspace_id == workspace_id))


class _LimitedDeletion:
    """The rows that one transaction deletes."""

    def __init__(self, connection: Connection, limit: int) -> None:
        self._connection, self._limit = connection, limit
        self.removed: Counter[str] = Counter()

    def remove_owners(self, table: Table, mine: ColumnElement[bool]) -> None:
        """Delete owners, after the rows that refer to them."""
        some = select(table.c.id).where(mine).limit(_AT_ONCE)
        while self._left() and (ids := self._connection.scalars(some).all()):
            for column in _OWNED[table.name]:
                self.remove(column.table, column.in_(ids))
            self.remove(table, table.c.id.in_(ids))

    def remove(self, table: Table, where: ColumnElement[bool]) -> None:
        """Delete rows, up to what is left of the limit."""
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
