"""Restores memories that have ended."""

from typing import Any

from sqlalchemy import Connection, select, update

from openbrain.adapters.sql.outbox.journal import Journal
from openbrain.adapters.sql.schema.tables import memories, memory_lineage
from openbrain.adapters.sql.writes import locked_reads
from openbrain.adapters.sql.writes.dedupe import dedupe_key
from openbrain.adapters.sql.writes.editing import EVER, as_seen, found, free_key, repeated
from openbrain.adapters.sql.writes.quotas import admit, total
from openbrain.adapters.sql.writes.superseding import sees
from openbrain.domain.access.visibility import Viewer
from openbrain.domain.errors import Conflict
from openbrain.domain.memory import Memory, Reason
from openbrain.ports.store.writes import ExpectedVersions, Origin


def restore_memory(
    connection: Connection,
    memory_id: str,
    viewer: Viewer,
    origin: Origin,
    note: str,
    expected_versions: ExpectedVersions,
    now: int,
) -> Memory:
    """Restore an ended memory; a live one is returned unchanged."""
    before = found(connection, memory_id, viewer, EVER)
    if not before.alive(now) or not repeated(connection, before, "restored", origin, expected_versions):
        as_seen(before, expected_versions)
    if before.alive(now):
        return before
    if before.reason is Reason.ERASED:
        raise Conflict("this memory was erased: nothing of it is left to restore")
    _only_head(connection, viewer, before, now)
    lapsed = before.expires_at is not None and before.expires_at <= now
    changed: dict[str, Any] = {
        "reason": None,
        "deleted_at": None,
        "archived_at": None,
        "expires_at": None if lapsed else before.expires_at,
        "version": before.version + 1,
        "revision": before.revision + 1,
        "updated_at": now,
    }
    after = before._replace(**changed)
    journal = Journal(now)
    key = dedupe_key(after)
    free_key(connection, journal, after, key)
    if before.reason is not None:  # an expired row is counted until it is ended
        admit(connection, after.workspace_id, total([after]), now)
    connection.execute(update(memories).where(memories.c.id == after.id).values(**changed, dedupe_key=key))
    journal.restored(before, after, origin, note)
    journal.write(connection)
    return after


def _only_head(connection: Connection, viewer: Viewer, memory: Memory, now: int) -> None:
    """Raise `Conflict` if another memory of its chain is live: an ancestor, or a descendant of it or of one of them."""
    child, parent = memory_lineage.c.child_id, memory_lineage.c.parent_id
    before = select(parent.label("id")).where(child == memory.id).cte("before", recursive=True)
    # UNION, not UNION ALL: terminates even if there is a cycle.
    before = before.union(select(parent).join_from(memory_lineage, before, child == before.c.id))
    roots = select(before.c.id).union(select(memories.c.id).where(memories.c.id == memory.id)).subquery()
    chain = select(roots.c.id).cte("chain", recursive=True)
    chain = chain.union(select(child).join_from(memory_lineage, chain, parent == chain.c.id))
    others = connection.scalars(select(memories.c.id).where(memories.c.id.in_(select(chain.c.id)))).all()
    living = [other for other in locked_reads.by_id(connection, others).values() if other.id != memory.id]
    for head in living:
        if head.alive(now):
            if not sees(viewer, head, now):
                raise Conflict("another memory, which you can't see, stands in its place")
            raise Conflict(f"{head.id} stands in its place now: forget that one first", head=head.id)
