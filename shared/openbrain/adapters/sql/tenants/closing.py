"""The deletion of a tenant: its memories are blanked, so that the indexes drop them; then all of its rows are
deleted."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import Connection, and_, delete, func, or_, select, update

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.engine.statements import along, chunks
from openbrain.adapters.sql.indexes import unused_vectors
from openbrain.adapters.sql.memories.conditions import compiled, held
from openbrain.adapters.sql.memories.rows import locked_rows
from openbrain.adapters.sql.schema.tables import (
    BY_AGE,
    former_inputs,
    memories,
    memory_history,
    memory_lineage,
    memory_passages,
    memory_usage,
    outbox,
    workspaces,
)
from openbrain.adapters.sql.signals.broadcast_log import stream_of
from openbrain.adapters.sql.tenants import tenant_rows
from openbrain.adapters.sql.work import operations as queue
from openbrain.adapters.sql.writes.ending import SYSTEM_ACTOR
from openbrain.adapters.sql.writes.erasing import blank, inputs_of
from openbrain.domain.errors import NotFound
from openbrain.domain.memory import Reason
from openbrain.ports.store.operations import Operation
from openbrain.ports.store.tenants import Dropped
from openbrain.ports.store.writes import Ended

_BLANKED = memories.c.reason == Reason.ERASED.value
_OLDEST = (memories.c.created_at, memories.c.id)
_AHEAD = 5
_PAGE = 1000


async def drop_rows(database: Database, workspace_id: str, limit: int) -> Dropped:
    free = (await database.read(lambda connection: _next_memories(connection, workspace_id, limit))).free
    if await unused_vectors.existing_inputs(database, await _inputs(database, free[:limit])):
        await unused_vectors.drop(database, await _inputs(database, free), free)
    return await database.write(lambda connection: _drop_rows(connection, workspace_id, limit))


async def drop_workspace(database: Database, workspace_id: str, keep: str) -> Mapping[str, int]:
    removed = Counter({"outbox": await _delete_events(database, workspace_id)})
    while True:
        some = await database.write(lambda connection: _drop_rest(connection, workspace_id, keep))
        removed.update(some)
        if not any(some.values()):
            return removed


async def _inputs(database: Database, ids: Sequence[str]) -> Sequence[str]:
    return await database.read(lambda connection: inputs_of(connection, ids))


async def _delete_events(database: Database, workspace_id: str) -> int:
    """Delete unpublished events about the workspace, found by their body or their stream's name."""
    named = f'"workspace_id":"{workspace_id}"'.encode()
    removed, last = 0, 0
    while page := await database.read(partial(_unpublished, after=last)):
        last = page[-1].id
        ids = [row.id for row in page if row.stream == stream_of(workspace_id) or named in bytes(row.body)]
        removed += await database.write(partial(_delete_from_outbox, ids=ids)) if ids else 0
    return removed


def counts(connection: Connection, workspace_id: str) -> dict[str, int]:
    if connection.scalar(select(workspaces.c.id).where(workspaces.c.id == workspace_id)) is None:
        raise NotFound("no workspace with this id")
    by_table = tenant_rows.count(connection, workspace_id)
    covered = and_(or_(memories.c.reason.is_(None), ~_BLANKED), compiled(held(connection, workspace_id)))
    kept = connection.scalar(select(func.count()).select_from(memories).where(covered))
    return {**by_table, "held": kept} if kept else by_table


def close(connection: Connection, workspace_id: str, operation: Operation, now: int) -> Operation:
    this = workspaces.c.id == workspace_id
    row = connection.execute(select(workspaces.c.deleted_at).where(this).with_for_update()).one_or_none()
    if row is None:
        raise NotFound("no workspace with this id")
    if row.deleted_at is None:
        connection.execute(update(workspaces).where(this).values(deleted_at=now))
    open_operations = queue.open_ones(connection, operation.workspace_id, operation.kind)
    return next((known for known in open_operations if known.request == operation.request), None) or queue.start(
        connection, operation, now
    )


def erase_all(connection: Connection, workspace_id: str, limit: int, since: int | None, now: int) -> Ended:
    mine = and_(memories.c.workspace_id == workspace_id, or_(memories.c.reason.is_(None), ~_BLANKED))
    following = mine if since is None else and_(mine, memories.c.created_at >= since)
    oldest = select(memories.c.id).where(following).order_by(*_OLDEST).limit(limit)
    ids = connection.scalars(along(oldest, memories, BY_AGE)).all()
    rows = locked_rows(connection, and_(memories.c.id.in_(ids), mine)) if ids else []
    if rows:
        blank(connection, rows, SYSTEM_ACTOR, "", now, keep_passages=True)
    return Ended(len(rows), max((row.created_at for row in rows), default=None))


class _NextMemories(NamedTuple):
    """The next memories of a workspace, oldest first: the ids that the indexes have dropped, and the number of all."""

    free: Sequence[str]
    all: int


def _next_memories(connection: Connection, workspace_id: str, limit: int) -> _NextMemories:
    held = and_(memories.c.text_revision == memories.c.revision, memories.c.vector_revision == memories.c.revision)
    mine = memories.c.workspace_id == workspace_id
    # Read a fixed number, dropped or not: while the indexes lag behind, filtering over all of them would take longer.
    oldest = select(memories.c.id, and_(_BLANKED, held)).where(mine).order_by(*_OLDEST).limit(_AHEAD * limit)
    rows = connection.execute(oldest).all()
    return _NextMemories([memory_id for memory_id, free in rows if free], len(rows))


def _drop_rows(connection: Connection, workspace_id: str, limit: int) -> Dropped:
    following = _next_memories(connection, workspace_id, limit)
    ids = sorted(following.free[:limit])
    for some in chunks(ids):
        for table in (memory_history, memory_passages, former_inputs, memory_usage):
            connection.execute(delete(table).where(table.c.memory_id.in_(some)))
        for end in (memory_lineage.c.child_id, memory_lineage.c.parent_id):
            connection.execute(delete(memory_lineage).where(end.in_(some)))
        connection.execute(delete(memories).where(memories.c.id.in_(some)))
    return Dropped(len(ids), following.all - len(ids))


def _drop_rest(connection: Connection, workspace_id: str, keep: str) -> Mapping[str, int]:
    removed = tenant_rows.drop(connection, workspace_id, keep, _PAGE)
    if not removed.total():
        connection.execute(delete(workspaces).where(workspaces.c.id == workspace_id))
    return removed


def _unpublished(connection: Connection, after: int) -> Sequence[Any]:
    columns = outbox.c.id, outbox.c.stream, outbox.c.body
    return connection.execute(select(*columns).where(outbox.c.id > after).order_by(outbox.c.id).limit(_PAGE)).all()


def _delete_from_outbox(connection: Connection, ids: Sequence[int]) -> int:
    return sum(connection.execute(delete(outbox).where(outbox.c.id.in_(some))).rowcount for some in chunks(ids))
