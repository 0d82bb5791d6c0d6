"""Marks and failures that the indexers write back to the rows."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from sqlalchemy import Connection, func, or_, select, update

from openbrain.adapters.sql.engine.database import TimedPart
from openbrain.adapters.sql.engine.statements import among, chunks, slot, slots
from openbrain.adapters.sql.indexes.index_entries import failed, within
from openbrain.adapters.sql.memories.conditions import LIVING
from openbrain.adapters.sql.outbox import relay
from openbrain.adapters.sql.schema.column_types import ERROR_CHARS
from openbrain.adapters.sql.schema.tables import memories
from openbrain.ports.store.generations import IndexKind
from openbrain.ports.store.index_entries import Extent, Mark

# MariaDB assigns from left to right and reads assigned values: indexed_at precedes the columns that it depends on.
_MARK = """UPDATE memories SET
 indexed_at = CASE WHEN {half}_revision <> {slot} AND ({other_half_holds}) THEN {slot} ELSE indexed_at END,
 {half}_revision = {slot}, {half}_error = '', {half}_error_revision = 0
 WHERE revision = {slot} AND id IN ({ids})"""

_OTHER_HALF_HOLDS = {
    IndexKind.TEXT: "NOT wants_vector OR vector_revision = {slot}",
    IndexKind.VECTOR: "text_revision = {slot}",
}


class SqlIndexMarks(TimedPart):
    """`ports.index_entries.IndexMarks`."""

    async def mark(self, kind: IndexKind, marks: Sequence[Mark]) -> frozenset[str]:
        """Write marks with one UPDATE per revision; of several marks of a memory the highest counts. Return the ids
        whose revision has changed since. Unknown ids are ignored, like their events."""
        highest: dict[str, int] = {}
        for item in marks:
            highest[item.memory_id] = max(item.revision, highest.get(item.memory_id, 0))
        if not highest:
            return frozenset()
        return await self._write(_mark, kind, highest, self._clock.now())

    async def record_failure(self, kind: IndexKind, memory_id: str, error: str) -> None:
        """Record a failure; the message is cut to the column's length."""
        message = error.encode("utf-8", "replace").decode()[:ERROR_CHARS]
        note = {f"{kind}_error": message, f"{kind}_error_revision": memories.c.revision}
        await self._change(update(memories).where(memories.c.id == memory_id).values(note))

    async def clear_failures(self, kind: IndexKind, memory_ids: Sequence[str]) -> int:
        error, revision = memories.c[f"{kind}_error"], memories.c[f"{kind}_error_revision"]
        noted = update(memories).where(memories.c.id.in_(memory_ids), revision > 0).values({error: "", revision: 0})
        return await self._change(noted) if memory_ids else 0

    async def count_failed(self, extent: Extent) -> int:
        query = select(func.count()).select_from(memories).where(within(extent), failed(extent.kind))
        return await self._scalar(query) or 0

    async def failed_of(self, kind: IndexKind, ids: Sequence[str]) -> frozenset[str]:
        return await self._read(_failed_of, kind, ids)

    async def any_marked(self, kind: IndexKind) -> bool:
        marked = select(memories.c.id).where(LIVING, memories.c[f"{kind}_revision"] > 0).limit(1)
        return await self._scalar(marked) is not None

    async def forget_marks(self, kind: IndexKind, after: str, until: str) -> int:
        """Reset the marks in one transaction."""
        mark = memories.c[f"{kind}_revision"]
        these = memories.c.id > after, memories.c.id <= until, mark > 0, LIVING
        return await self._change(update(memories).where(*these).values({mark.name: 0}))

    async def lift(self, seen: Mapping[str, int]) -> int:
        """Raise the revisions in one transaction."""
        return await self._write(_lift, seen, self._clock.now())

    async def lift_all(self, seen: int, after: str, until: str) -> int:
        """Raise the revisions in one transaction."""
        low = memories.c.id > after, memories.c.id <= until, memories.c.revision <= seen
        return await self._change(update(memories).where(*low).values(revision=seen + 1))

    async def tombstoned(self, ids: Sequence[str]) -> bool:
        return not await self._read(_any_behind, ids)


def _failed_of(connection: Connection, kind: IndexKind, ids: Sequence[str]) -> frozenset[str]:
    query = select(memories.c.id).where(failed(kind))
    return frozenset(row.id for row in among(connection, query, memories.c.id, ids))


def _any_behind(connection: Connection, ids: Sequence[str]) -> bool:
    behind = or_(memories.c.text_revision != memories.c.revision, memories.c.vector_revision != memories.c.revision)
    return any(among(connection, select(memories.c.id).where(behind).limit(1), memories.c.id, ids))


def _mark(connection: Connection, kind: IndexKind, highest: Mapping[str, int], now: int) -> frozenset[str]:
    moved_on: set[str] = set()
    for revision, some in _by_revision(highest):
        moved_on.update(_mark_revision(connection, kind, revision, some, now))
    return frozenset(moved_on)


def _mark_revision(
    connection: Connection, kind: IndexKind, revision: int, ids: Sequence[str], now: int
) -> Sequence[str]:
    one, these = slot(connection), slots(connection, len(ids))
    statement = _MARK.format(
        half=kind.value, slot=one, ids=these, other_half_holds=_OTHER_HALF_HOLDS[kind].format(slot=one)
    )
    done = connection.exec_driver_sql(statement, (revision, revision, now, revision, revision, *ids))
    if done.rowcount == len(ids):
        return ()
    moved_on = f"SELECT id FROM memories WHERE id IN ({these}) AND revision <> {one}"  # noqa: S608 - values are bound
    return [row[0] for row in connection.exec_driver_sql(moved_on, (*ids, revision))]


def _lift(connection: Connection, seen: Mapping[str, int], now: int) -> int:
    lifted = 0
    for revision, some in _by_revision(seen):
        low = memories.c.id.in_(some), memories.c.revision <= revision
        lifted += connection.execute(update(memories).where(*low).values(revision=revision + 1)).rowcount
        relay.announce_rows(connection, some, None, now)
    return lifted


def _by_revision(revisions: Mapping[str, int]) -> Iterator[tuple[int, Sequence[str]]]:
    """Yield the memories of each revision in chunks, in a fixed order."""
    by_revision: defaultdict[int, list[str]] = defaultdict(list)
    for memory_id, revision in revisions.items():
        by_revision[revision].append(memory_id)
    for revision, ids in sorted(by_revision.items()):
        for some in chunks(sorted(ids)):
            yield revision, some
