"""Erasure after the retention period, in the database."""

from itertools import takewhile

from sqlalchemy import Connection, and_, delete, func, or_, select, update

from openbrain.adapters.sql.engine.database import TimedPart
from openbrain.adapters.sql.memories.conditions import free, held
from openbrain.adapters.sql.memories.rows import locked_rows, read_rows
from openbrain.adapters.sql.schema.lifecycle_tables import operation_changes
from openbrain.adapters.sql.schema.tables import memories, memory_history
from openbrain.adapters.sql.writes.erasing import erase_rows
from openbrain.domain.access.visibility import matcher
from openbrain.domain.memory import DAY, Reason
from openbrain.ports.lifecycle import Action
from openbrain.ports.retention import Walked
from openbrain.ports.store.writes import Origin

_ENDED_AT = func.coalesce(memories.c.deleted_at, memories.c.archived_at, memories.c.expires_at, memories.c.updated_at)
NOTE = "its days of retention are over"


class SqlRetention(TimedPart):
    """`ports.retention.Retention`."""

    async def erase_ended(self, workspace_id: str, reason: Reason, before: int, limit: int, origin: Origin) -> int:
        return await self._write(_erase_ended, workspace_id, reason, before, limit, origin, self._clock.now())

    async def blank_history(self, workspace_id: str, before: int, after: int, limit: int) -> Walked:
        return await self._write(_blank_history, workspace_id, before, after, limit, self._clock.now() + DAY)

    async def drop_earlier_texts(self, workspace_id: str, before: int, limit: int) -> int:
        return await self._write(_drop_earlier_texts, workspace_id, before, limit)


def _erase_ended(
    connection: Connection, workspace_id: str, reason: Reason, before: int, limit: int, origin: Origin, now: int
) -> int:
    ended = and_(memories.c.workspace_id == workspace_id, memories.c.reason == reason.value, before > _ENDED_AT)
    past = and_(ended, free(connection, workspace_id))
    ids = connection.scalars(select(memories.c.id).where(past).limit(limit)).all()
    rows = locked_rows(connection, and_(memories.c.id.in_(ids), past)) if ids else []
    if rows:
        erase_rows(connection, rows, origin, NOTE, now)
    return len(rows)


def _blank_history(
    connection: Connection, workspace_id: str, before: int, after: int, limit: int, future: int
) -> Walked:
    # By id: no index on the history covers times, and ids rise with them. Only a line of an imported file can be dated
    # in the future: it is left behind, so that it does not end this walk, which passes the lines of all workspaces.
    table = memory_history.c
    says = or_(table.before.is_not(None), table.after.is_not(None))
    columns = (table.id, table.workspace_id, table.memory_id, table.at, says)
    lines = connection.execute(select(*columns).where(table.id > after).order_by(table.id).limit(limit)).all()
    old = list(takewhile(lambda line: line.at < before or line.at > future, lines))
    due = [
        (number, memory_id)
        for number, owner, memory_id, at, speaks in old
        if owner == workspace_id and speaks and at < before
    ]
    holds = matcher(held(connection, workspace_id))
    kept = {row.id for row in read_rows(connection, sorted({memory_id for _, memory_id in due})) if holds(row)}
    numbers = [number for number, memory_id in due if memory_id not in kept]
    if numbers:
        connection.execute(update(memory_history).where(table.id.in_(numbers)).values(before=None, after=None, note=""))
    return Walked(old[-1][0] if old else after, len(numbers), len(old) == limit)


def _drop_earlier_texts(connection: Connection, workspace_id: str, before: int, limit: int) -> int:
    table = operation_changes.c
    # A memory that was only archived is as it was. One that was archived into another returns only with that one.
    speaks = or_(table.action != Action.ARCHIVED.value, table.into_id.is_not(None))
    past = and_(table.workspace_id == workspace_id, table.at < before, speaks)
    query = (
        select(table.id).join(memories, memories.c.id == table.memory_id).where(past, free(connection, workspace_id))
    )
    ids = connection.scalars(query.limit(limit)).all()
    return connection.execute(delete(operation_changes).where(table.id.in_(ids))).rowcount if ids else 0
