"""Reads current rows, their history and their lineage."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Connection, RowMapping, func, or_, select

from openbrain.adapters.sql.engine.bulkhead import Bulkhead
from openbrain.adapters.sql.engine.database import Database, Part
from openbrain.adapters.sql.engine.statements import along, older_than
from openbrain.adapters.sql.memories.conditions import LIVING, NEWEST, compiled
from openbrain.adapters.sql.memories.past_rows import read_past
from openbrain.adapters.sql.memories.recalls import purge, record
from openbrain.adapters.sql.memories.rows import RecentRows, indexable, memory_columns, read_rows, to_memories
from openbrain.adapters.sql.memories.scans import counted, keyword_hits
from openbrain.adapters.sql.memories.session_turns import read_beside, read_turns
from openbrain.adapters.sql.schema.tables import BY_AGE, memories, memory_history, memory_lineage
from openbrain.domain.access.metadata_pairs import FIELD as METADATA_PAIRS
from openbrain.domain.access.visibility import DECIDING, AllOf, Condition
from openbrain.domain.ids import uuids_among
from openbrain.domain.memory import Memory, Reason
from openbrain.ports.index import Count, Hit
from openbrain.ports.store.memories import Ancestry, HistoryEntry, RecallRecord, Turn

_NARROWING = {"project", "memory_scope", "agent_id", METADATA_PAIRS}
"""Fields that other indexes begin with."""

DEGRADED_SCAN = 20_000
"""Number of newest visible memories that a keyword search scans."""
SCANS_AT_ONCE, SCAN_WAIT_S = 2, 5.0
"""Maximum number of concurrent scans, and the seconds to wait for one. Every recall scans while no index answers:
without a limit, a server that is only slow would never recover."""


class SqlMemories(Part):
    """`ports.memories.Memories`."""

    def __init__(
        self, database: Database, degraded_scan: int = DEGRADED_SCAN, recent: RecentRows | None = None
    ) -> None:
        super().__init__(database)
        self._degraded_scan = degraded_scan
        self._recent = RecentRows() if recent is None else recent
        self._scans = Bulkhead(SCANS_AT_ONCE, SCAN_WAIT_S)

    async def rows(self, ids: Sequence[str]) -> Mapping[str, Memory]:
        """Return rows by id. Invalid ids are ignored."""
        known = _uuids(ids)
        return {memory.id: memory for memory in await self._read_keys(read_rows, known)} if known else {}

    async def indexable(self, ids: Sequence[str]) -> Mapping[str, Memory]:
        """Return rows to index; rows that this process has just written are not read again."""
        kept = self._recent.among(ids)
        if not kept:
            return await self.rows(ids)
        memories = await self._read_keys(indexable, _uuids(ids), kept)
        self._recent.settle(kept, memories)
        return memories

    async def listing(
        self,
        condition: Condition,
        limit: int,
        before: tuple[int, str] | None = None,
        *,
        surest: bool = False,
        archived: bool = False,
    ) -> Sequence[Memory]:
        """Return memories, newest first; with `surest` by confidence, then newest first."""
        return await self._read(_listing, condition, limit, before, surest=surest, archived=archived)

    async def keyword_hits(self, words: Sequence[str], condition: Condition, limit: int) -> Sequence[Hit]:
        """Return hits, best first, then newest."""
        statement = keyword_hits(words, compiled(condition), self._degraded_scan, limit)
        async with self._scans.place():
            return [Hit(row["id"], row["score"]) for row in await self._rows(statement)]

    async def turns(self, ids: Sequence[str], condition: Condition, around: Collection[int] = ()) -> Mapping[str, Turn]:
        """Return the turns; needs a second statement if there are sessions."""
        known = _uuids(ids)
        return await self._read_keys(read_turns, known, condition, around) if known else {}

    async def of_same_session(self, memory: Memory, condition: Condition, limit: int) -> Sequence[str]:
        """Return the memories of the session with one statement."""
        return await self._read(read_beside, memory, condition, limit)

    async def past(self, condition: Condition, at: int, limit: int, org: str = "") -> Sequence[Memory]:
        """Return memories as they were, from current rows and the later history."""
        async with self._scans.place():
            return await self._read(read_past, condition, at, limit, org)

    async def counts(self, fields: Sequence[str], condition: Condition, limit: int) -> Sequence[Count]:
        """Count over the newest visible memories, at most `degraded_scan`."""
        within = compiled(condition)
        async with self._scans.place():
            return await self._read(counted, fields, within, self._degraded_scan, limit)

    async def count_embedded(self, condition: Condition) -> int:
        current = memories.c.vector_revision == memories.c.revision
        statement = select(func.count()).select_from(memories).where(LIVING, compiled(condition), current)
        return await self._scalar(statement) or 0

    async def history(
        self, memory_id: str, limit: int = 1000, after: int = 0, *, moves: bool = False
    ) -> Sequence[HistoryEntry]:
        """Return history lines, oldest first."""
        return await self._read(_history, memory_id, limit, after, moves=moves)

    async def ancestry(self, memory_id: str, limit: int) -> Ancestry:
        """Return relatives, nearest first; each memory once, even if the chain is a cycle."""
        return await self._read(_ancestry, memory_id, limit)

    async def record_recalls(self, recalls: Sequence[RecallRecord]) -> None:
        if recalls:
            await self._write(record, recalls)

    async def purge_recalls(self, before: int, limit: int, workspace_id: str | None = None) -> int:
        return await self._write(purge, before, limit, workspace_id)


def _uuids(ids: Sequence[str]) -> list[str]:
    return sorted(set(uuids_among(ids)))


def _listing(
    connection: Connection,
    condition: Condition,
    limit: int,
    before: tuple[int, str] | None,
    *,
    surest: bool = False,
    archived: bool = False,
) -> list[Memory]:
    listed = or_(LIVING, memories.c.reason == Reason.ARCHIVED.value) if archived else LIVING
    order = (memories.c.confidence.desc(), *NEWEST) if surest else NEWEST
    where = listed, compiled(condition), older_than(before, memories.c.created_at, memories.c.id)
    statement = select(*memory_columns(connection)).where(*where).order_by(*order).limit(limit)
    if before is not None and not surest and not _narrowed(condition):
        statement = along(statement, memories, BY_AGE)
    return to_memories(connection, connection.execute(statement))


def _narrowed(condition: Condition) -> bool:
    """True if another index may select fewer rows than the one by age."""
    parts = condition.conditions if isinstance(condition, AllOf) else (condition,)
    return any(getattr(part, "field", "") in _NARROWING for part in parts)


def _history(connection: Connection, memory_id: str, limit: int, after: int, *, moves: bool) -> Sequence[HistoryEntry]:
    table = memory_history.c
    named = "memory_id version revision action actor at before after"
    columns: list[ColumnElement[Any]] = [table[name] for name in named.split()]
    columns += [table.note.label("reason"), table.id.label("number")]
    of_it = [table.memory_id == memory_id, table.id > after]
    if moves:  # a text may hold such a name too: the caller looks again
        of_it.append(or_(*(table.before.contains(f'"{name}":', autoescape=True) for name in DECIDING)))
    statement = select(*columns).where(*of_it).order_by(table.id).limit(limit)
    return [_entry(row) for row in connection.execute(statement).mappings()]


def _entry(row: RowMapping) -> HistoryEntry:
    states = {name: None if row[name] is None else orjson.loads(row[name]) for name in ("before", "after")}
    return HistoryEntry(**{**row, **states})


def _ancestry(connection: Connection, memory_id: str, limit: int) -> Ancestry:
    return Ancestry(
        parents=_related(connection, memory_id, limit, "child_id", "parent_id"),
        children=_related(connection, memory_id, limit, "parent_id", "child_id"),
    )


def _related(connection: Connection, memory_id: str, limit: int, from_column: str, to_column: str) -> tuple[str, ...]:
    """Follow links one generation at a time: lists stay short, and no memory is visited twice."""
    table = memory_lineage.c
    seen = {memory_id: None}
    ring: Sequence[str] = [memory_id]
    while ring and len(seen) <= limit:
        statement = (
            select(table[to_column])
            .where(table[from_column].in_(ring))
            .order_by(table.created_at.desc(), table[to_column])
            .limit(limit)
        )
        ring = [row for row in connection.execute(statement).scalars() if row not in seen]
        seen.update(dict.fromkeys(ring))
    return tuple(seen)[1 : limit + 1]
