"""Applies changes: each is written to the row, its history with the operation's id, and the events, and saved for
undo."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, and_, case, func, select, update

from openbrain.adapters.sql.memories.conditions import LIVING
from openbrain.adapters.sql.memories.rows import locked_rows
from openbrain.adapters.sql.outbox.journal import PUBLIC, Journal
from openbrain.adapters.sql.schema.inserts import insert_rows
from openbrain.adapters.sql.schema.lifecycle_tables import operation_changes as table
from openbrain.adapters.sql.schema.memory_rows import columns_of, json_text
from openbrain.adapters.sql.schema.tables import MERGED, memories, memory_lineage, memory_usage
from openbrain.adapters.sql.schema.tables import operations as operations_table
from openbrain.adapters.sql.tenants.lifecycle.subjects import decided, eligible
from openbrain.adapters.sql.work.operations import OPEN
from openbrain.adapters.sql.writes.dedupe import keep_keys, release
from openbrain.adapters.sql.writes.editing import store_edit
from openbrain.adapters.sql.writes.ending import close
from openbrain.adapters.sql.writes.quotas import admit_more
from openbrain.domain.errors import Conflict, QuotaExceeded
from openbrain.domain.ids import content_hash
from openbrain.domain.memory import Change as Changed
from openbrain.domain.memory import Memory, Reason
from openbrain.ports.lifecycle import Action, Change, Decide, GroupResult, Selection, Subject, Use
from openbrain.ports.store.operations import Operation
from openbrain.ports.store.writes import Origin

NOTE_CHARS = 500
_BOOKKEEPING = {"version", "revision", "updated_at", "dedupe_key"}


def apply(
    connection: Connection, operation: Operation, selection: Selection, ids: Sequence[str], decide: Decide, now: int
) -> GroupResult:
    if not runs(connection, operation):
        return GroupResult((), 0)
    rows = _unchanged_by(connection, operation, locked_rows(connection, and_(memories.c.id.in_(ids), LIVING)))
    allowed = eligible(connection, selection, rows)
    result = decided(allowed, ids, decide)
    made = _Writer(connection, operation, allowed.subjects, now).write(result.changes)
    return result._replace(changes=made, conflicts=len(result.changes) - len(made))


def _unchanged_by(connection: Connection, operation: Operation, rows: Sequence[Memory]) -> Sequence[Memory]:
    """Return the rows that the operation has not changed yet: a repeated step leaves what was restored meanwhile."""
    mine = table.c.operation_id == operation.id, table.c.memory_id.in_([row.id for row in rows])
    changed = set(connection.scalars(select(table.c.memory_id).where(*mine))) if rows else set()
    return [row for row in rows if row.id not in changed]


def possible(changes: Sequence[Change], refused: Sequence[Change]) -> Sequence[Change]:
    """Return the changes without the refused ones, and without archiving memories into a refused one."""
    without = {change.memory_id for change in refused}
    return [change for change in changes if change not in refused and change.into not in without]


def runs(connection: Connection, operation: Operation) -> bool:
    """True if the operation is still running. Locks its row, so that it can't end before this transaction."""
    mine = and_(operations_table.c.id == operation.id, OPEN, ~operations_table.c.cancel_requested)
    return connection.scalar(select(operations_table.c.id).where(mine).with_for_update()) is not None


def origin_of(operation: Operation) -> Origin:
    return Origin(actor=operation.actor, causation_id=operation.id)


def note_of(operation: Operation, why: str) -> str:
    return f"{operation.kind} {operation.id}: {why}"[:NOTE_CHARS]


def change_use(connection: Connection, memory_id: str, was: Use, new: Use) -> None:
    """Change the use counts from `was` to `new`; what has been counted since `was` is kept on top."""
    insert_rows(connection, memory_usage, [(memory_id, 0, None, 0, 0)], missing=True)
    table = memory_usage.c
    values: dict[str, Any] = {
        name: case((table[name] > counted, table[name] - counted + becomes), else_=becomes)
        for name, counted, becomes in (
            ("recall_count", was.recalls, new.recalls),
            ("used", was.used, new.used),
            ("ignored", was.ignored, new.ignored),
        )
    }
    unrecalled = table.last_recalled_at.is_not_distinct_from(was.last_recalled_at)
    values["last_recalled_at"] = case((unrecalled, new.last_recalled_at), else_=table.last_recalled_at)
    connection.execute(update(memory_usage).where(table.memory_id == memory_id).values(values))


def counts(connection: Connection, operation_id: str) -> Mapping[Action, int]:
    query = select(table.c.action, func.count()).where(table.c.operation_id == operation_id).group_by(table.c.action)
    return {Action(action): number for action, number in connection.execute(query)}


def first(connection: Connection, operation_id: str, limit: int) -> Sequence[Change]:
    columns = (table.c.memory_id, table.c.action, table.c.why, table.c.into_id)
    query = select(*columns).where(table.c.operation_id == operation_id).order_by(table.c.id).limit(limit)
    return [
        Change(memory_id=memory_id, action=Action(action), why=why, into=into)
        for memory_id, action, why, into in connection.execute(query)
    ]


class _Writer:
    """Writes the changes of one transaction."""

    def __init__(self, connection: Connection, operation: Operation, subjects: Mapping[str, Subject], now: int) -> None:
        self._connection, self._operation, self._subjects = connection, operation, subjects
        self._journal, self._origin = Journal(now), origin_of(operation)
        self._lines: list[tuple[Any, ...]] = []

    def write(self, changes: Sequence[Change]) -> Sequence[Change]:
        """Write the changes; return those that succeeded."""
        rewritings = [change for change in changes if change.action is Action.REWRITTEN]
        leaving = [change for change in changes if change.action is Action.ARCHIVED]
        keyed = memories.c.id.in_([change.memory_id for change in leaving]), memories.c.dedupe_key.is_not(None)
        deduped = set(self._connection.scalars(select(memories.c.id).where(*keyed))) if leaving else set()
        made = possible(changes, [change for change in rewritings if not self._rewrite(change, leaving)])
        if archived := [change for change in made if change.action is Action.ARCHIVED]:
            self._archive(archived, deduped)
        self._journal.write(self._connection)
        insert_rows(self._connection, table, self._lines)
        return made

    def _archive(self, changes: Sequence[Change], deduped: Collection[str]) -> None:
        rows = [self._subjects[change.memory_id].memory for change in changes]
        for change, row in zip(changes, close(self._connection, rows, Reason.ARCHIVED, self._journal.now), strict=True):
            note = note_of(self._operation, change.why)
            self._journal.ended(row, Reason.ARCHIVED, self._origin, note, change.into)
            self._keep(change, row.version, {"deduped": row.id in deduped})
        behind = {change.memory_id for change in changes if change.into} & set(deduped)
        keep_keys(self._connection, [row for row in rows if row.id in behind])
        lines = [(change.into, change.memory_id, MERGED, self._journal.now) for change in changes if change.into]
        insert_rows(self._connection, memory_lineage, lines, missing=True)

    def _rewrite(self, change: Change, leaving: Sequence[Change]) -> bool:
        """Rewrite a memory; False if another live memory has the same text by now or the quota is full. The text may
        equal that of a memory that is archived into this one."""
        behind = [item.memory_id for item in leaving if item.into == change.memory_id]
        before, use = self._subjects[change.memory_id]
        after = rewritten(before, change.after or before, self._journal.now)
        try:
            with self._connection.begin_nested():
                if behind:
                    release(self._connection, behind)
                admit_more(self._connection, before, after, self._journal.now)
                store_edit(self._connection, self._journal, before, after)
        except (Conflict, QuotaExceeded):
            return False
        if change.use is not None:
            change_use(self._connection, change.memory_id, use, change.use)
        kind = Changed.METADATA if before.content == after.content else Changed.CONTENT
        self._journal.edited(before, after, kind, self._origin, note_of(self._operation, change.why))
        kept: dict[str, Any] = {"columns": _differing(before, after), "use": None}
        if change.use is not None:
            kept |= {"use": list(use), "became": list(change.use)}
        self._keep(change, after.version, kept)
        return True

    def _keep(self, change: Change, version: int, before: Mapping[str, Any]) -> None:
        operation = self._operation
        about = (operation.workspace_id, operation.id, change.memory_id, change.action.value, change.why[:NOTE_CHARS])
        self._lines.append((*about, version, change.into, json_text(before), self._journal.now, ""))


def rewritten(before: Memory, wanted: Memory, now: int) -> Memory:
    """Return the row after a rewrite."""
    given: dict[str, Any] = {name: getattr(wanted, name) for name in PUBLIC}
    given |= {"confirmed_at": wanted.confirmed_at, "content_hash": content_hash(wanted.content), "updated_at": now}
    return before._replace(**given, version=before.version + 1, revision=before.revision + 1)


def _differing(before: Memory, after: Memory) -> dict[str, Any]:
    """Return the old values of the columns that a rewrite changed."""
    was, now = columns_of(before), columns_of(after)
    return {name: was[name] for name in was if was[name] != now[name] and name not in _BOOKKEEPING}
