"""Undoes changes: each memory returns to its former state if nothing else has changed it since."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson
from sqlalchemy import Connection, delete, func, select, update

from openbrain.adapters.sql.memories.rows import locked_rows
from openbrain.adapters.sql.outbox.journal import Journal
from openbrain.adapters.sql.schema.lifecycle_tables import operation_changes as table
from openbrain.adapters.sql.schema.memory_rows import MEMORY_COLUMNS, columns_of, memory_from_row
from openbrain.adapters.sql.schema.tables import MERGED, memories, memory_lineage
from openbrain.adapters.sql.tenants.lifecycle.applying import change_use, note_of, origin_of, runs
from openbrain.adapters.sql.tenants.lifecycle.subjects import with_use
from openbrain.adapters.sql.writes.dedupe import dedupe_key
from openbrain.adapters.sql.writes.editing import free_key, store_edit
from openbrain.adapters.sql.writes.quotas import admit, admit_more, total
from openbrain.domain.errors import Conflict, QuotaExceeded
from openbrain.domain.memory import Change as Changed
from openbrain.domain.memory import Memory, Reason
from openbrain.ports.lifecycle import Action, ChangePlace, Undone, Use
from openbrain.ports.store.operations import Operation


class _ChangeRow(NamedTuple):
    """A row of the table of changes."""

    id: int
    memory_id: str
    action: str
    why: str
    version: int
    into: str | None
    before: str
    at: int


_COLUMNS = [table.c[name] for name in ("id", "memory_id", "action", "why", "version", "into_id", "before", "at")]


def undo(
    connection: Connection, operation: Operation, of: str, limit: int, after: ChangePlace | None, now: int
) -> ChangePlace | None:
    if not runs(connection, operation):
        return None
    action, last = after or (Action.REWRITTEN, "")
    mine = table.c.operation_id == of, table.c.workspace_id == operation.workspace_id, table.c.undone == ""
    following = table.c.action == action.value, table.c.memory_id > last
    query = select(*_COLUMNS).where(*mine, *following).order_by(table.c.memory_id).limit(limit).with_for_update()
    changes = [_ChangeRow(*row) for row in connection.execute(query)]
    rows = {row.id: row for row in locked_rows(connection, memories.c.id.in_([change.memory_id for change in changes]))}
    journal, became = Journal(now), defaultdict[Undone, list[int]](list)
    for change in changes:
        row = rows.get(change.memory_id)
        undone = Undone.CHANGED if row is None else _undo(connection, journal, operation, change, row)
        became[undone].append(change.id)
    for undone, ids in became.items():
        connection.execute(update(table).where(table.c.id.in_(ids)).values(undone=undone.value))
    journal.write(connection)
    if len(changes) == limit:
        return action, changes[-1].memory_id
    return (Action.ARCHIVED, "") if action is Action.REWRITTEN else None


def undone(connection: Connection, of: str) -> Mapping[Undone, int]:
    done = table.c.operation_id == of, table.c.undone != ""
    query = select(table.c.undone, func.count()).where(*done).group_by(table.c.undone)
    return {Undone(what): number for what, number in connection.execute(query)}


def _undo(connection: Connection, journal: Journal, operation: Operation, change: _ChangeRow, row: Memory) -> Undone:
    put_back = _return if change.action == Action.ARCHIVED else _rewrite_back
    try:
        with connection.begin_nested():
            return put_back(connection, journal, operation, change, row)
    except Conflict:
        return Undone.TAKEN
    except QuotaExceeded:
        return Undone.FULL


def _return(connection: Connection, journal: Journal, operation: Operation, change: _ChangeRow, row: Memory) -> Undone:
    if row.reason is not Reason.ARCHIVED or row.version != change.version:
        return Undone.CHANGED
    after = row._replace(reason=None, archived_at=None, revision=row.revision + 1, updated_at=journal.now)
    key = dedupe_key(after) if orjson.loads(change.before)["deduped"] else None
    admit(connection, after.workspace_id, total([after]), journal.now)
    if key is not None:
        free_key(connection, journal, after, key)
    changed: dict[str, Any] = {"reason": None, "archived_at": None, "dedupe_key": key}
    changed |= {"revision": after.revision, "updated_at": after.updated_at}
    connection.execute(update(memories).where(memories.c.id == row.id).values(changed))
    if change.into is not None:
        lineage = memory_lineage.c
        merged = lineage.child_id == change.into, lineage.parent_id == row.id, lineage.kind == MERGED
        connection.execute(delete(memory_lineage).where(*merged))
    journal.restored(row, after, origin_of(operation), note_of(operation, change.why))
    return Undone.UNDONE


def _rewrite_back(
    connection: Connection, journal: Journal, operation: Operation, change: _ChangeRow, row: Memory
) -> Undone:
    if row.ended or row.version != change.version:
        return Undone.CHANGED
    saved: dict[str, Any] = orjson.loads(change.before)
    values = columns_of(row) | saved["columns"]
    if row.confirmed_at > change.at:  # confirmed by somebody since, which changes no version
        values["confirmed_at"] = row.confirmed_at
    was = memory_from_row([values[name] for name in MEMORY_COLUMNS])
    after = was._replace(version=row.version + 1, revision=row.revision + 1, updated_at=journal.now)
    admit_more(connection, row, after, journal.now)
    store_edit(connection, journal, row, after)
    # The memory is again as before the change: an earlier operation that left it so can be undone too.
    earlier = table.c.memory_id == row.id, table.c.version < change.version, table.c.undone == ""
    risen = after.version - (change.version - 1)
    connection.execute(update(table).where(*earlier).values(version=table.c.version + risen))
    if saved["use"] is not None:
        change_use(connection, row.id, _use_after(connection, row, saved), Use(*saved["use"]))
    kind = Changed.METADATA if row.content == after.content else Changed.CONTENT
    journal.edited(row, after, kind, origin_of(operation), note_of(operation, change.why))
    return Undone.UNDONE


def _use_after(connection: Connection, row: Memory, saved: Mapping[str, Any]) -> Use:
    """Return the use counts as the change left them."""
    if "became" in saved:
        return Use(*saved["became"])
    # Changes of an older version don't say what the counts became.
    ((_, now),) = with_use(connection, [row])
    return now
