"""Export of complete rows, oldest first, and the check whether an export may be restored unchanged."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Connection, and_, or_, select, true, update

from openbrain.adapters.sql.engine.database import TimedPart
from openbrain.adapters.sql.engine.statements import along, insert_missing, newer_than
from openbrain.adapters.sql.memories.conditions import LIVING, compiled
from openbrain.adapters.sql.memories.rows import memory_columns, to_memories
from openbrain.adapters.sql.schema.memory_rows import json_text
from openbrain.adapters.sql.schema.tables import BY_AGE, memories, memory_history, memory_lineage, operations
from openbrain.adapters.sql.tenants.landing import land
from openbrain.adapters.sql.writes.dedupe import dedupe_key
from openbrain.domain.access.visibility import NEVER, Condition
from openbrain.domain.errors import Conflict
from openbrain.domain.ids import transfer_id
from openbrain.domain.memory import Memory
from openbrain.ports.store.operations import OperationStatus
from openbrain.ports.store.transfer import HistoryRow, Item, Landed, Link, Position, StoredMemory

IMPORT = "import"
_RUNNING = operations.c.status == OperationStatus.RUNNING.value
_OLDEST = (memories.c.created_at, memories.c.id)
_HISTORY_COLUMNS = (
    *(memory_history.c[name] for name in ("memory_id", "version", "revision", "action", "actor", "at")),
    *(memory_history.c[name] for name in ("before", "after", "note")),
)


class SqlTransfer(TimedPart):
    """`ports.transfer.Transfer`."""

    async def kept(
        self, condition: Condition, limit: int, after: Position | None = None, *, dead: bool = False
    ) -> Sequence[StoredMemory]:
        """Return a page of memories, oldest first."""
        wanted = and_(compiled(condition), true() if dead else LIVING, newer_than(after, *_OLDEST))
        return await self._read(_kept, wanted, limit)

    async def links(self, ids: Sequence[str]) -> Sequence[Link]:
        """Return the lineage links, ordered by child."""
        table = memory_lineage.c
        query = select(table.child_id, table.parent_id, table.kind, table.created_at).where(table.child_id.in_(ids))
        ordered = query.order_by(table.child_id, table.created_at, table.parent_id)
        return [Link(**row) for row in await self._rows(ordered)]

    async def history(
        self, ids: Sequence[str], limit: int, after: tuple[str, int] | None = None
    ) -> tuple[Sequence[HistoryRow], tuple[str, int] | None]:
        """Return a page of history, ordered by memory, oldest first, and the cursor."""
        return await self._read(_history, ids, limit, after)

    async def restoring(self, workspace_id: str, export_id: str, actor: str, *, begin: bool = True) -> bool:
        """Begin restoring, unless begun already. True if the export may be restored unchanged; `Conflict` if it was
        cancelled."""
        may = await self._write(_restoring, workspace_id, export_id, actor, self._clock.now(), begin=begin)
        if may is None:
            raise _cancelled()
        return may

    async def restoring_at(self, workspace_id: str, export_id: str, stored: Mapping[str, int]) -> None:
        now, this = self._clock.now(), operations.c.id == transfer_id(workspace_id, export_id)
        progress = {"done": sum(stored.values()), "result": json_text(stored), "updated_at": now}

        def note(connection: Connection) -> bool:
            connection.execute(update(operations).where(this, _RUNNING).values(progress))
            return bool(connection.scalar(select(operations.c.cancel_requested).where(this)))

        if await self._database.write(note):
            raise _cancelled()

    async def restored(self, workspace_id: str, export_id: str) -> None:
        """Mark the import as done; the first time is kept if it is called again."""
        this = operations.c.id == transfer_id(workspace_id, export_id), _RUNNING
        done = _ended(OperationStatus.DONE, self._clock.now())
        await self._change(update(operations).where(*this).values(done))

    async def give_up_imports(self, silent_since: int, limit: int) -> int:
        silent = and_(operations.c.kind == IMPORT, _RUNNING, operations.c.updated_at < silent_since)
        return await self._write(_give_up, silent, limit, self._clock.now())

    async def load(
        self, workspace_id: str, items: Sequence[Item], *, dry_run: bool = False, keep_ids: bool = False
    ) -> Sequence[Landed]:
        """Insert the items. Retry if another writer takes a key meanwhile."""
        now = self._clock.now()

        def transaction(connection: Connection) -> list[Landed]:
            if not dry_run:
                return land(connection, workspace_id, items, now, keep_ids=keep_ids)
            with connection.begin_nested() as tried:
                landed = land(connection, workspace_id, items, now, keep_ids=keep_ids)
                tried.rollback()
            return landed

        return await self._claim(transaction)

    async def duplicates(self, given: Sequence[Memory]) -> Sequence[bool]:
        """Return for each whether its content exists. Expired rows don't count."""
        keys = [dedupe_key(item) for item in given]
        due = memories.c.expires_at.is_not(None) & (memories.c.expires_at <= self._clock.now())
        held = select(memories.c.dedupe_key).where(memories.c.dedupe_key.in_(keys), ~due)
        stored = {row["dedupe_key"] for row in await self._rows(held)}
        return [key in stored for key in keys]


def _kept(connection: Connection, wanted: ColumnElement[bool], limit: int) -> list[StoredMemory]:
    unique = memories.c.dedupe_key.is_not(None)
    query = select(unique, *memory_columns(connection)).where(wanted).order_by(*_OLDEST).limit(limit)
    rows = connection.execute(along(query, memories, BY_AGE)).all()
    stored = to_memories(connection, (row[1:] for row in rows))
    return [StoredMemory(memory, bool(row[0])) for memory, row in zip(stored, rows, strict=True)]


def _history(
    connection: Connection, ids: Sequence[str], limit: int, after: tuple[str, int] | None
) -> tuple[Sequence[HistoryRow], tuple[str, int] | None]:
    table = memory_history.c
    name, line = after or ("", 0)
    left = [id_ for id_ in ids if id_ >= name]
    new = or_(table.memory_id > name, and_(table.memory_id == name, table.id > line))
    query = (
        select(table.id, *_HISTORY_COLUMNS)
        .where(table.memory_id.in_(left), new)
        .order_by(table.memory_id, table.id)
        .limit(limit)
    )
    rows = connection.execute(query).all()
    lines = [
        HistoryRow(**{column.name: value for column, value in zip(_HISTORY_COLUMNS, row[1:], strict=True)})
        for row in rows
    ]
    return lines, (rows[-1].memory_id, rows[-1].id) if len(rows) == limit else None


def _give_up(connection: Connection, silent: ColumnElement[bool], limit: int, now: int) -> int:
    rows = connection.execute(select(operations.c.id, operations.c.cancel_requested).where(silent).limit(limit)).all()
    for name, cancelled in rows:
        values = _ended(OperationStatus.CANCELLED if cancelled else OperationStatus.FAILED, now)
        values["error"] = "" if cancelled else "no more of the file came: send it again, and it does the rest"
        # The condition is checked again: another line may have arrived meanwhile.
        connection.execute(update(operations).where(operations.c.id == name, silent).values(values))
    return len(rows)


def _ended(status: OperationStatus, now: int) -> dict[str, Any]:
    return {"status": status.value, "held_until": 0, "finished_at": now, "updated_at": now}


def _cancelled() -> Conflict:
    return Conflict("the import of this export was cancelled: a new export can be imported")


def _restoring(
    connection: Connection, workspace_id: str, export_id: str, actor: str, now: int, *, begin: bool
) -> bool | None:
    """Return whether the export may be restored; None if it was cancelled."""
    name = transfer_id(workspace_id, export_id)
    this = operations.c.id == name
    running = connection.execute(select(operations.c.cancel_requested).where(this)).one_or_none()
    if running is not None and running.cancel_requested:
        connection.execute(update(operations).where(this, _RUNNING).values(_ended(OperationStatus.CANCELLED, now)))
        return None
    if running is not None:
        if begin:
            given_up = operations.c.status == OperationStatus.FAILED.value
            again = {"status": OperationStatus.RUNNING.value, "held_until": NEVER, "finished_at": None, "error": ""}
            connection.execute(update(operations).where(this, given_up).values(**again))
            connection.execute(update(operations).where(this, _RUNNING).values(updated_at=now))
        return True
    stands = select(memories.c.id).where(memories.c.workspace_id == workspace_id).limit(1)
    if connection.scalar(stands) is not None:
        return False
    if begin:
        row = {
            "id": name,
            "workspace_id": workspace_id,
            "kind": IMPORT,
            "status": OperationStatus.RUNNING.value,
            "actor": actor,
            "request": orjson.dumps({"export_id": export_id}).decode(),
            "cancel_requested": False,
            # Only the client that sends the file works on it.
            "held_until": NEVER,
            "created_at": now,
            "updated_at": now,
        }
        connection.execute(insert_missing(connection, operations), row)
    return True
