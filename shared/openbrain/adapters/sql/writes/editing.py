"""Changes and forgets one memory, under the lock of its row."""

from typing import Any

import orjson
from sqlalchemy import Connection, select, update

from openbrain.adapters.sql.outbox.journal import Journal
from openbrain.adapters.sql.schema.memory_rows import columns_of
from openbrain.adapters.sql.schema.tables import memories, memory_history
from openbrain.adapters.sql.writes import locked_reads
from openbrain.adapters.sql.writes.dedupe import PERSONAL, dedupe_key, release
from openbrain.adapters.sql.writes.ending import SYSTEM_ACTOR, end
from openbrain.adapters.sql.writes.quotas import admit_more
from openbrain.adapters.sql.writes.superseding import ended_error, sees
from openbrain.domain.access.visibility import Viewer
from openbrain.domain.errors import Conflict, Forbidden, Invalid, NotFound, Outdated
from openbrain.domain.ids import content_hash
from openbrain.domain.memory import Change, Memory, MemoryType, Reason, Scope, with_labels
from openbrain.ports.store.writes import Edit, ExpectedVersions, Origin

_UNKNOWN = "no memory with this id"
EVER = 0
"""At this time nothing has expired yet: used to find ended memories too."""


def edit_memory(connection: Connection, edit: Edit, now: int) -> Memory:
    """Apply an edit. An edit without effect writes nothing."""
    before = found(connection, edit.memory_id, edit.viewer, now)
    if not before.alive(now):
        raise NotFound(_UNKNOWN)
    after = _edited(before, edit)
    if after != before or not repeated(connection, before, "updated", edit.origin, edit.expected_versions):
        as_seen(before, edit.expected_versions)
    journal = Journal(now)
    may_move(before, after, edit.authors)
    if after != before:
        change = Change.METADATA if after.content == before.content else Change.CONTENT
        confirmed_at = now if edit.confirm or change is Change.CONTENT else before.confirmed_at
        after = after._replace(
            version=before.version + 1,
            revision=before.revision + 1,
            updated_at=now,
            confirmed_at=confirmed_at,
        )
        admit_more(connection, before, after, now)
        store_edit(connection, journal, before, after)
        journal.edited(before, after, change, edit.origin)
    elif edit.confirm and before.confirmed_at != now:
        after = before._replace(confirmed_at=now)
        connection.execute(update(memories).where(memories.c.id == after.id).values(confirmed_at=now))
        journal.confirmed(before, after, edit.origin)
    journal.write(connection)
    return after


def forget_memory(
    connection: Connection,
    memory_id: str,
    viewer: Viewer,
    origin: Origin,
    note: str,
    expected_versions: ExpectedVersions,
    now: int,
) -> Memory:
    """End a memory permanently; `Conflict`, with the head, if it was superseded."""
    memory = found(connection, memory_id, viewer, now)
    # A repeated request finds its own change: the version that it names, forgotten.
    if memory.reason is not Reason.FORGOTTEN or memory._replace(reason=None).edition not in (expected_versions or ()):
        as_seen(memory, expected_versions)
    if memory.reason in (Reason.FORGOTTEN, Reason.ERASED):
        return memory
    if memory.reason is Reason.SUPERSEDED:
        raise ended_error(connection, viewer, memory, now)
    journal = Journal(now)
    (ended,) = end(connection, journal, [memory], Reason.FORGOTTEN, origin, note=note)
    journal.write(connection)
    return ended


def found(connection: Connection, memory_id: str, viewer: Viewer, now: int) -> Memory:
    """Return the row, locked until the transaction ends; `NotFound` if the viewer can't see it."""
    memory = locked_reads.locked(connection, memory_id)
    if memory is None or not sees(viewer, memory, now):
        raise NotFound(_UNKNOWN)
    return memory


def as_seen(memory: Memory, expected_versions: ExpectedVersions) -> None:
    """Raise `Outdated` if the caller has read another version of the locked row."""
    if expected_versions is not None and memory.edition not in expected_versions:
        raise Outdated("the memory has changed since you read it: read it again, then repeat the change")


def repeated(
    connection: Connection, memory: Memory, action: str, origin: Origin, expected_versions: ExpectedVersions
) -> bool:
    """True if the last change was this action of this actor, to the edition that the caller has read: a request that
    is repeated because its answer was lost finds its own change."""
    if not expected_versions or memory.edition in expected_versions:
        return False
    line = memory_history.c
    last = select(line.actor, line.before).where(
        line.memory_id == memory.id, line.version == memory.version, line.action == action
    )
    change = connection.execute(last.order_by(line.id.desc()).limit(1)).first()
    if change is None or change.actor != origin.actor:
        return False
    reason = orjson.loads(change.before or "{}").get("reason")
    was = memory._replace(version=memory.version - 1, reason=Reason(reason) if reason else None)
    return was.edition in expected_versions


def _edited(before: Memory, edit: Edit) -> Memory:
    given: dict[str, Any] = {
        "content": edit.content,
        "content_hash": None if edit.content is None else content_hash(edit.content),
        "title": edit.title,
        "aliases": edit.aliases,
        "tags": with_labels(before.tags if edit.tags is None else edit.tags, edit.labels),
        "metadata": edit.metadata,
        "type": None if edit.type is None else MemoryType(edit.type),
        "confidence": edit.confidence,
        "source": edit.source,
        "org": edit.org,
        "project": edit.project,
        "memory_scope": edit.memory_scope,
        "agent_id": edit.agent_id,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    if edit.expires_at is not None:
        changes["expires_at"] = edit.expires_at or None
    return before._replace(**changes)


def may_move(before: Memory, after: Memory, authors: tuple[str, ...] | None) -> None:
    """Raise `Invalid` if nobody could see the memory after the change, `Forbidden` if another agent's memory would be
    handed on or hidden."""
    if after.memory_scope is Scope.SESSION and not after.session_id:
        raise Invalid("memory_scope", "session is for what was said in a session, and this memory is of none")
    if after.memory_scope in PERSONAL and not after.agent_id:
        raise Invalid("agent_id", f"is needed: memory_scope {after.memory_scope} is what one agent sees")
    hidden = after.memory_scope is not before.memory_scope and after.memory_scope in PERSONAL
    if (hidden or after.agent_id != before.agent_id) and authors is not None and before.agent_id not in authors:
        raise Forbidden("this memory is another agent's: only a key that may speak for it can hand it on or hide it")


def store_edit(connection: Connection, journal: Journal, before: Memory, after: Memory) -> None:
    """Write the columns that differ; `Conflict` if a live memory has the same content in the same place."""
    key = connection.scalar(select(memories.c.dedupe_key).where(memories.c.id == after.id))
    # A row that was allowed to be a duplicate stays one.
    if key is not None:
        key = dedupe_key(after)
        free_key(connection, journal, after, key)
    was = columns_of(before)
    changed = {name: value for name, value in columns_of(after, key).items() if value != was[name]}
    connection.execute(update(memories).where(memories.c.id == after.id).values(changed))


def free_key(connection: Connection, journal: Journal, after: Memory, key: str) -> None:
    """Free this duplicate key if its holder has ended or expired; `Conflict` if its holder is live."""
    holder = locked_reads.holders(connection, [key]).get(key)
    if holder is None or holder.id == after.id:
        return
    if holder.alive(journal.now):
        raise Conflict(f"{holder.id} says the same already: forget one of them", head=holder.id)
    if holder.reason is None:
        end(connection, journal, [holder], Reason.EXPIRED, SYSTEM_ACTOR)
    else:
        release(connection, [holder.id])
