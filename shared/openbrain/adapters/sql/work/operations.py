"""Operations as rows. A hold is a holder's name and an expiry, taken and kept by compare-and-set.

The expiry is in the database's time: a holder with a fast clock would keep others out after its end.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Connection, RowMapping, and_, or_, select, update

from openbrain.adapters.sql.engine.database import TimedPart
from openbrain.adapters.sql.engine.statements import database_now, first_of, insert_missing, older_than
from openbrain.adapters.sql.schema.column_types import ERROR_CHARS
from openbrain.adapters.sql.schema.lifecycle_tables import without_hold
from openbrain.adapters.sql.schema.memory_rows import json_text
from openbrain.adapters.sql.schema.tables import leases
from openbrain.adapters.sql.schema.tables import operations as table
from openbrain.domain.access.visibility import NEVER
from openbrain.domain.errors import Conflict
from openbrain.domain.memory import MICROSECONDS
from openbrain.ports.store.operations import TRACES, Operation, OperationStatus, Progress
from openbrain.ports.store.writes import PURGE

LAST_PURGE = "last purge"
"""A row among the leases that holds one value for all replicas; nobody acquires it."""
PAUSE = MICROSECONDS
"""Pause of an operation that waits for others."""
_NEWEST = (table.c.created_at.desc(), table.c.id.desc())
OPEN = table.c.status.in_([status.value for status in OperationStatus if not status.ended])
_SHOWN = [column for column in table.c if column.name not in ("holder", "held_until")]
_ANY_OPEN = select(table.c.id).where(OPEN).limit(1)


class SqlOperations(TimedPart):
    """`ports.operations.Operations`."""

    async def start_operation(self, operation: Operation) -> Operation:
        return await self._database.write(lambda connection: start(connection, operation, self._clock.now()))

    async def operation(self, workspace_id: str, operation_id: str) -> Operation | None:
        return await self._read(one, workspace_id, operation_id)

    async def operations(
        self,
        workspace_id: str,
        limit: int,
        *,
        kinds: Collection[str] = (),
        statuses: Collection[OperationStatus] = (),
        before: tuple[int, str] | None = None,
    ) -> Sequence[Operation]:
        conditions = [table.c.workspace_id == workspace_id, older_than(before, table.c.created_at, table.c.id)]
        conditions += [table.c.kind.in_(sorted(kinds))] if kinds else []
        conditions += [table.c.status.in_(sorted(status.value for status in statuses))] if statuses else []
        query = select(*_SHOWN).where(*conditions).order_by(*_NEWEST).limit(limit)
        return [_operation(row) for row in await self._rows(query)]

    async def cancel_operation(self, workspace_id: str, operation_id: str) -> Operation | None:
        return await self._write(_cancel, workspace_id, operation_id, self._clock.now())

    async def hold_operation(self, holder: str, seconds: float, kinds: Collection[str]) -> Operation | None:
        # Asked every second by every worker, and there is rarely any.
        if await self._scalar(_ANY_OPEN) is None:
            return None
        return await self._write(_hold, holder, sorted(kinds), self._clock.now(), round(seconds * MICROSECONDS))

    async def keep_operation(self, operation_id: str, holder: str, seconds: float) -> bool:
        return await self._write(_keep, operation_id, holder, round(seconds * MICROSECONDS))

    async def advance_operation(self, operation_id: str, holder: str, progress: Progress) -> Operation | None:
        now = self._clock.now()
        values: dict[str, Any] = {"done": progress.done, "total": progress.total, "result": json_text(progress.result)}
        status = OperationStatus.DONE if progress.finished else OperationStatus.RUNNING
        pause = PAUSE if progress.waits else 0
        return await self._write(_release, operation_id, holder, status, now, values, pause)

    async def end_operation(
        self, operation_id: str, holder: str, status: OperationStatus, error: str = ""
    ) -> Operation | None:
        now, values = self._clock.now(), {"error": error[:ERROR_CHARS]}
        return await self._write(_release, operation_id, holder, status, now, values)

    async def runs(self, operation: Operation) -> bool:
        mine = table.c.id == operation.id, OPEN, ~table.c.cancel_requested
        return await self._scalar(select(table.c.id).where(*mine)) is not None

    async def followed(self, operation: Operation) -> bool:
        queued = table.c.status == OperationStatus.QUEUED.value
        other = select(table.c.id).where(queued, table.c.kind == operation.kind, table.c.id != operation.id).limit(1)
        return await self._scalar(other) is not None

    async def purge_operations(self, ended_before: int, limit: int, workspace_id: str | None = None) -> int:
        ended = [~OPEN, table.c.finished_at < ended_before, without_hold(table.c.workspace_id)]
        ended += [] if workspace_id is None else [table.c.workspace_id == workspace_id]
        return await self._remove(table, select(table.c.id).where(*ended).limit(limit))


def start(connection: Connection, operation: Operation, now: int) -> Operation:
    """Queue an operation in the caller's transaction."""
    row = {
        "id": operation.id,
        "workspace_id": operation.workspace_id,
        "kind": operation.kind,
        "status": OperationStatus.QUEUED.value,
        "actor": operation.actor,
        "request": json_text(operation.request),
        "done": 0,
        "total": operation.total,
        "cancel_requested": False,
        "created_at": now,
        "updated_at": now,
    }
    connection.execute(insert_missing(connection, table), row)
    if operation.kind == PURGE:
        _note_purge(connection, operation.id)
    return _operation(connection.execute(select(*_SHOWN).where(table.c.id == operation.id)).mappings().one())


def last_purge(connection: Connection) -> str:
    """Return the id of the last queued purge; '' if there is none."""
    return connection.scalar(select(leases.c.holder).where(leases.c.name == LAST_PURGE)) or ""


def _note_purge(connection: Connection, operation_id: str) -> None:
    row = {"name": LAST_PURGE, "holder": operation_id, "expires_at": 0}
    connection.execute(insert_missing(connection, leases), row)
    connection.execute(update(leases).where(leases.c.name == LAST_PURGE).values(holder=operation_id))


def one(connection: Connection, workspace_id: str, operation_id: str) -> Operation | None:
    """Return an operation like `SqlOperations.operation`."""
    return _one(connection, _of(workspace_id, operation_id))


def open_ones(connection: Connection, workspace_id: str, kind: str) -> Sequence[Operation]:
    """Return the operations of a kind that have not ended."""
    query = select(*_SHOWN).where(table.c.workspace_id == workspace_id, table.c.kind == kind, OPEN)
    return [_operation(row) for row in connection.execute(query).mappings()]


def _one(connection: Connection, where: ColumnElement[bool]) -> Operation | None:
    return first_of(connection, select(*_SHOWN).where(where), _operation)


def _of(workspace_id: str, operation_id: str) -> ColumnElement[bool]:
    return and_(table.c.id == operation_id, table.c.workspace_id == workspace_id)


def _held(operation_id: str, holder: str) -> ColumnElement[bool]:
    return and_(table.c.id == operation_id, table.c.holder == holder, OPEN)


def _cancel(connection: Connection, workspace_id: str, operation_id: str, now: int) -> Operation | None:
    this = _of(workspace_id, operation_id)
    row = connection.execute(select(table).where(this).with_for_update()).mappings().one_or_none()
    if row is None:
        return None
    if row["kind"] == PURGE and not OperationStatus(row["status"]).ended:
        raise Conflict("a purge can't be cancelled: what was erased would stay in indexes, streams and files")
    if row["status"] == OperationStatus.QUEUED:
        values = _ended(row, OperationStatus.CANCELLED, now) | {"cancel_requested": True}
        connection.execute(update(table).where(this).values(values))
    elif row["status"] == OperationStatus.RUNNING and not row["cancel_requested"]:
        connection.execute(update(table).where(this).values(cancel_requested=True, updated_at=now))
    return _one(connection, this)


def _keep(connection: Connection, operation_id: str, holder: str, span: int) -> bool:
    kept = update(table).where(_held(operation_id, holder)).values(held_until=database_now(connection) + span)
    return connection.execute(kept).rowcount == 1


def _hold(connection: Connection, holder: str, kinds: Sequence[str], now: int, span: int) -> Operation | None:
    now_there = database_now(connection)
    # Nobody's, and put off for longer than any pause: the clock was ahead.
    ahead = and_(table.c.holder == "", table.c.held_until > now_there + PAUSE, table.c.held_until < NEVER)
    free = or_(table.c.held_until <= now_there, table.c.holder == holder, ahead)
    waiting = select(table.c.id).where(OPEN, table.c.kind.in_(kinds), free).order_by(table.c.updated_at, table.c.id)
    operation_id = connection.scalar(waiting.limit(1).with_for_update(skip_locked=True))
    if operation_id is None:
        return None
    values: dict[str, Any] = {"status": OperationStatus.RUNNING.value, "holder": holder, "updated_at": now}
    values["held_until"] = database_now(connection) + span
    connection.execute(update(table).where(table.c.id == operation_id).values(values))
    return _one(connection, table.c.id == operation_id)


def _release(
    connection: Connection,
    operation_id: str,
    holder: str,
    status: OperationStatus,
    now: int,
    values: Mapping[str, Any],
    pause: int = 0,
) -> Operation | None:
    held = _held(operation_id, holder)
    row = connection.execute(select(table).where(held).with_for_update()).mappings().one_or_none()
    if row is None:
        return None
    after: dict[str, Any] = {"status": status.value, "holder": "", "held_until": 0, "updated_at": now}
    after |= {"held_until": database_now(connection) + pause} if pause else {}
    connection.execute(update(table).where(held).values({**after, **values, **_ended(row, status, now)}))
    return _one(connection, table.c.id == operation_id)


def _ended(row: RowMapping, status: OperationStatus, now: int) -> dict[str, Any]:
    if not status.ended:
        return {}
    request = {name: value for name, value in orjson.loads(row["request"]).items() if name != TRACES}
    return {"status": status.value, "holder": "", "held_until": 0, "finished_at": now, "request": json_text(request)}


def _operation(row: RowMapping) -> Operation:
    known = dict(row)
    known["status"] = OperationStatus(known["status"])
    known["request"] = orjson.loads(known["request"])
    known["result"] = orjson.loads(known["result"] or "{}")
    known["cancel_requested"] = bool(known["cancel_requested"])
    return Operation(**known)
