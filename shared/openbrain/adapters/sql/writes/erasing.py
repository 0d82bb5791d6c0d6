"""Blanks memories: the row stays as proof, without anything of its text."""

import uuid
from collections.abc import Sequence

import orjson
from sqlalchemy import Connection, and_, case, delete, exists, func, select, update
from sqlalchemy.sql.elements import ColumnElement

from openbrain.adapters.sql.engine.statements import among, chunks
from openbrain.adapters.sql.memories.conditions import LIVING, NEWEST, compiled, free, held
from openbrain.adapters.sql.memories.rows import locked_rows
from openbrain.adapters.sql.outbox.journal import Journal
from openbrain.adapters.sql.schema.agent_tables import messages
from openbrain.adapters.sql.schema.lifecycle_tables import operation_changes
from openbrain.adapters.sql.schema.tables import (
    MERGED,
    former_inputs,
    memories,
    memory_history,
    memory_lineage,
    memory_passages,
    memory_usage,
    recall_feedback,
)
from openbrain.adapters.sql.work import operations
from openbrain.adapters.sql.writes import locked_reads
from openbrain.adapters.sql.writes.editing import EVER, as_seen, found
from openbrain.adapters.sql.writes.ending import end
from openbrain.adapters.sql.writes.quotas import release
from openbrain.domain.access.visibility import Condition, Criteria, Viewer, visible, workspace_of
from openbrain.domain.ids import content_hash, uuid7
from openbrain.domain.memory import Memory, Reason
from openbrain.ports.store.operations import TRACES, Operation
from openbrain.ports.store.writes import PURGE, Bulk, Ended, Erasure, ExpectedVersions, Living, Origin

BLANK = {
    **dict.fromkeys(("content", "project", "source", "speaker", "title", "content_hash"), ""),
    **dict.fromkeys(("text_error", "vector_error"), ""),
    "tags": "[]",
    "identity": "",
    "metadata": "{}",
    "aliases": None,
    "turn": None,
    "dedupe_key": None,
    "text_error_revision": 0,
    "vector_error_revision": 0,
    "reason": Reason.ERASED.value,
    "revision": memories.c.revision + 1,
}
"""Values of an erased row. The other columns show whose it was, when it ended and who may see that."""


def purge_id(memory_id: str) -> str:
    """Return the id of the operation that purges a memory that was erased individually."""
    return str(uuid.uuid5(uuid.UUID(memory_id), PURGE))


def erase_memory(
    connection: Connection,
    memory_id: str,
    viewer: Viewer,
    origin: Origin,
    note: str,
    expected_versions: ExpectedVersions,
    now: int,
) -> Erasure:
    memory = found(connection, memory_id, viewer, EVER)
    operation_id = purge_id(memory_id)
    if memory.reason is Reason.ERASED:
        operation = operations.one(connection, memory.workspace_id, operation_id)
        return Erasure(memory, operation, _merged_of(connection, [memory_id], visible(viewer, Criteria(), EVER)))
    as_seen(memory, expected_versions)
    (blanked,), traces = blank(connection, [memory], origin, note, now)
    merged = _merged_of(connection, [memory_id], visible(viewer, Criteria(), EVER))
    return Erasure(blanked, queue_purge(connection, operation_id, [blanked], traces, origin, now), merged)


def end_living(
    connection: Connection, bulk: Bulk, limit: int, origin: Origin, note: str, now: int, *, erase: bool
) -> Ended:
    rows: list[Memory] = []
    # Again if others have changed all of them before they were locked: none would mean that nothing is left.
    while not rows and (ids := newest(connection, bulk, limit)):
        rows = locked_rows(connection, and_(memories.c.id.in_(ids), _free_matches(connection, bulk)))
    if not rows:
        return Ended(0)
    reached = min(row.created_at for row in rows)
    if erase:
        if bulk.merged is not None:
            rows += _merged_too(connection, bulk.merged, rows)
        erase_rows(connection, rows, origin, note, now)
    else:
        journal = Journal(now)
        end(connection, journal, rows, Reason.FORGOTTEN, origin, note=note)
        journal.write(connection)
    return Ended(len(rows), reached)


def erase_rows(connection: Connection, rows: Sequence[Memory], origin: Origin, note: str, now: int) -> None:
    """Erase rows of one workspace that this transaction has locked; an operation purges their traces."""
    blanked, traces = blank(connection, rows, origin, note, now)
    queue_purge(connection, uuid7(now), blanked, traces, origin, now)


def blank(
    connection: Connection, rows: Sequence[Memory], origin: Origin, note: str, now: int, *, keep_passages: bool = False
) -> tuple[list[Memory], dict[str, list[str]]]:
    """Blank rows that this transaction has locked; return the new rows and their traces. `keep_passages`: for a caller
    that removes the vectors later, which the passages identify."""
    ids = [row.id for row in rows]
    traces = traces_of(connection, rows)
    ended = func.coalesce(memories.c.deleted_at, now)
    here = memories.c.id.in_(ids)
    connection.execute(update(memories).where(here).values(**BLANK, deleted_at=ended, updated_at=now))
    release(connection, rows)
    mine = memory_history.c.memory_id.in_(ids)
    connection.execute(update(memory_history).where(mine).values(before=None, after=None, note=""))
    tables = (memory_usage, recall_feedback, messages, operation_changes)
    for table in tables if keep_passages else (memory_passages, former_inputs, *tables):
        connection.execute(delete(table).where(table.c.memory_id.in_(ids)))
    by_id = locked_reads.by_id(connection, ids)
    blanked = [by_id[id_] for id_ in ids]
    journal = Journal(now)
    for row in blanked:
        journal.ended(row, Reason.ERASED, origin, note)
    journal.write(connection)
    return blanked, traces


def traces_of(connection: Connection, rows: Sequence[Memory]) -> dict[str, list[str]]:
    """Return hashes to find traces elsewhere: of every text the memories ever had, and of their model inputs."""
    return {"contents": _contents(connection, rows), "inputs": inputs_of(connection, [row.id for row in rows])}


def queue_purge(
    connection: Connection,
    operation_id: str,
    blanked: Sequence[Memory],
    traces: dict[str, list[str]],
    origin: Origin,
    now: int,
) -> Operation:
    operation = Operation(
        id=operation_id,
        workspace_id=blanked[0].workspace_id,
        kind=PURGE,
        actor=origin.actor,
        request={"ids": [row.id for row in blanked], TRACES: traces},
    )
    return operations.start(connection, operation, now)


def _contents(connection: Connection, rows: Sequence[Memory]) -> list[str]:
    """Return the hashes of all contents that these memories ever had."""
    hashes = {row.content_hash for row in rows if row.content_hash}
    lines = select(memory_history.c.before, memory_history.c.after)
    for parts in among(connection, lines, memory_history.c.memory_id, [row.id for row in rows]):
        texts = [orjson.loads(part).get("content") for part in parts if part is not None]
        hashes |= {content_hash(text) for text in texts if isinstance(text, str)}
    return sorted(hashes)


def inputs_of(connection: Connection, ids: Sequence[str]) -> list[str]:
    """Return the hashes of the current and former model inputs of these memories."""
    inputs = {
        row.input_hash
        for table in (memory_passages, former_inputs)
        for row in among(connection, select(table.c.input_hash), table.c.memory_id, ids)
    }
    return sorted(inputs)


def _state(*, ended: bool) -> ColumnElement[bool]:
    return func.coalesce(memories.c.reason, "") != Reason.ERASED.value if ended else LIVING


def measure_living(connection: Connection, condition: Condition, *, ended: bool) -> Living:
    matched = _state(ended=ended), compiled(condition)
    holding = case((compiled(held(connection, workspace_of(condition))), 1), else_=0)
    columns = func.count(), func.coalesce(func.max(memories.c.created_at), 0), func.coalesce(func.sum(holding), 0)
    rows, latest, kept = connection.execute(select(*columns).where(*matched)).one()
    return Living(rows, latest, int(kept))


def newest(connection: Connection, bulk: Bulk, limit: int) -> list[str]:
    query = select(memories.c.id).where(_free_matches(connection, bulk)).order_by(*NEWEST).limit(limit)
    return list(connection.scalars(query))


def _free_matches(connection: Connection, bulk: Bulk) -> ColumnElement[bool]:
    """Return the condition for what the operation may end: its matches without those under a legal hold."""
    matched = and_(_state(ended=bulk.ended), compiled(bulk.condition), memories.c.created_at <= bulk.made_by)
    return and_(matched, free(connection, workspace_of(bulk.condition)))


def merged_beside(connection: Connection, bulk: Bulk) -> list[str]:
    if bulk.merged is None:
        return []
    matched = _free_matches(connection, bulk)
    link = memory_lineage.c
    merged = exists().where(link.parent_id == memories.c.id, link.kind == MERGED).correlate(memories)
    sources = connection.scalars(select(memories.c.id).where(merged, matched)).all()
    found = _merged_of(connection, sources, bulk.merged)
    matches = {row.id for row in among(connection, select(memories.c.id).where(matched), memories.c.id, found)}
    return [memory_id for memory_id in found if memory_id not in matches]


def _merged_too(connection: Connection, condition: Condition, rows: Sequence[Memory]) -> list[Memory]:
    """Return what rows were merged into, locked, without those rows and what a legal hold covers."""
    ids = _merged_of(connection, [row.id for row in rows], condition)
    matched = and_(_state(ended=True), compiled(condition), free(connection, workspace_of(condition)))
    return [row for some in chunks(ids) for row in locked_rows(connection, and_(memories.c.id.in_(some), matched))]


def _merged_of(connection: Connection, sources: Sequence[str], condition: Condition) -> list[str]:
    """Return what memories were merged into, also by way of others, if it matches and is not erased."""
    query = select(memory_lineage.c.child_id).where(memory_lineage.c.kind == MERGED)
    seen, ring = set(sources), list(sources)
    while ring:
        children = {row.child_id for row in among(connection, query, memory_lineage.c.parent_id, ring)}
        ring = sorted(children - seen)
        seen.update(ring)
    matched = _state(ended=True), compiled(condition)
    left = sorted(seen.difference(sources))
    return [row.id for row in among(connection, select(memories.c.id).where(*matched), memories.c.id, left)]
