"""The end of a tenant: its memories are blanked, so that the indexes let go of them, and then every row of it goes."""

from collections.abc import Mapping

from sqlalchemy import Connection, Table, and_, delete, func, or_, select, update
from sqlalchemy.sql.elements import ColumnElement

from openbrain.adapters.sql import operations as queue
from openbrain.adapters.sql.database import Database
from openbrain.adapters.sql.ending import TIME
from openbrain.adapters.sql.erasing import blank, locked
from openbrain.adapters.sql.purging import drop_unused
from openbrain.adapters.sql.statements import chunks
from openbrain.adapters.sql.tables import (
    api_keys,
    idempotency_keys,
    memories,
    memory_history,
    memory_lineage,
    memory_passages,
    memory_usage,
    operations,
    outbox,
    recalls,
    workspace_usage,
    workspaces,
)
from openbrain.errors import NotFound
from openbrain.memory import Reason
from openbrain.ports.clock import Clock
from openbrain.ports.erasing import Dropped
from openbrain.ports.operations import Operation

_OWNED = (memories, memory_history, api_keys, idempotency_keys, recalls, operations, workspace_usage)
"""Tables whose rows name their workspace."""
_REST = (memory_history, api_keys, idempotency_keys, recalls, operations, workspace_usage)
_BLANKED = memories.c.reason == Reason.ERASED.value
_ROUND = 1000


class SqlClosing:
    """`ports.erasing.Closing`."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def workspace_counts(self, workspace_id: str) -> Mapping[str, int]:
        """As in the port."""
        return await self._database.read(lambda connection: _counts(connection, workspace_id))

    async def close_workspace(self, workspace_id: str, operation: Operation) -> Operation:
        """As in the port."""
        now = self._clock.now()
        return await self._database.write(lambda connection: _close(connection, workspace_id, operation, now))

    async def erase_all(self, workspace_id: str, limit: int) -> int:
        """As in the port."""
        now = self._clock.now()
        return await self._database.write(lambda connection: _erase_all(connection, workspace_id, limit, now))

    async def drop_rows(self, workspace_id: str, limit: int) -> Dropped:
        """As in the port."""
        return await self._database.write(lambda connection: _drop_rows(connection, workspace_id, limit))

    async def drop_workspace(self, workspace_id: str, keep: str) -> Mapping[str, int]:
        """As in the port."""
        return await self._database.write(lambda connection: _drop_workspace(connection, workspace_id, keep))


def _counts(connection: Connection, workspace_id: str) -> dict[str, int]:
    if connection.scalar(select(workspaces.c.id).where(workspaces.c.id == workspace_id)) is None:
        raise NotFound("no workspace with this id")
    return {str(table.name): _count(connection, table, table.c.workspace_id == workspace_id) for table in _OWNED}


def _count(connection: Connection, table: Table, where: ColumnElement[bool]) -> int:
    return connection.execute(select(func.count()).select_from(table).where(where)).scalar_one()


def _close(connection: Connection, workspace_id: str, operation: Operation, now: int) -> Operation:
    this = workspaces.c.id == workspace_id
    row = connection.execute(select(workspaces.c.deleted_at).where(this).with_for_update()).one_or_none()
    if row is None:
        raise NotFound("no workspace with this id")
    if row.deleted_at is None:
        connection.execute(update(workspaces).where(this).values(deleted_at=now))
    return queue.start(connection, operation, now)


def _erase_all(connection: Connection, workspace_id: str, limit: int, now: int) -> int:
    mine = and_(memories.c.workspace_id == workspace_id, or_(memories.c.reason.is_(None), ~_BLANKED))
    ids = connection.scalars(select(memories.c.id).where(mine).limit(limit)).all()
    rows = locked(connection, and_(memories.c.id.in_(ids), mine)) if ids else []
    if rows:
        _, traces = blank(connection, rows, TIME, "", now)
        drop_unused(connection, traces["inputs"])
    return len(rows)


def _drop_rows(connection: Connection, workspace_id: str, limit: int) -> Dropped:
    mine = and_(memories.c.workspace_id == workspace_id, _BLANKED)
    held = and_(memories.c.text_revision == memories.c.revision, memories.c.vector_revision == memories.c.revision)
    ids = connection.scalars(select(memories.c.id).where(mine, held).order_by(memories.c.id).limit(limit)).all()
    for some in chunks(ids):
        for table in (memory_history, memory_passages, memory_usage):
            connection.execute(delete(table).where(table.c.memory_id.in_(some)))
        for end in (memory_lineage.c.child_id, memory_lineage.c.parent_id):
            connection.execute(delete(memory_lineage).where(end.in_(some)))
        connection.execute(delete(memories).where(memories.c.id.in_(some)))
    return Dropped(len(ids), _count(connection, memories, memories.c.workspace_id == workspace_id))


def _drop_workspace(connection: Connection, workspace_id: str, keep: str) -> dict[str, int]:
    gone = {"outbox": _unsay(connection, workspace_id)}
    for table in _REST:
        mine = table.c.workspace_id == workspace_id
        if table is operations:
            mine = and_(mine, table.c.id != keep)
        gone[str(table.name)] = connection.execute(delete(table).where(mine)).rowcount
    connection.execute(delete(workspaces).where(workspaces.c.id == workspace_id))
    return gone


def _unsay(connection: Connection, workspace_id: str) -> int:
    """Events about it that nobody has published yet: they name it only in their bytes."""
    named = f'"workspace_id":"{workspace_id}"'.encode()
    rows = connection.execute(select(outbox.c.id, outbox.c.body).limit(_ROUND * 100))
    ids = [row.id for row in rows if named in bytes(row.body)]
    for some in chunks(ids):
        connection.execute(delete(outbox).where(outbox.c.id.in_(some)))
    return len(ids)
