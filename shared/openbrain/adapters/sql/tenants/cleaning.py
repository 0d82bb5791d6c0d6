"""Cleaning of stored texts: memories, their history, and the other texts of a workspace."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import Column, ColumnElement, Connection, and_, bindparam, delete, func, or_, select, update

from openbrain.adapters.sql.agents.standing_queries import forget_vectors
from openbrain.adapters.sql.engine.database import TimedPart
from openbrain.adapters.sql.engine.statements import along, among
from openbrain.adapters.sql.memories.conditions import compiled, held
from openbrain.adapters.sql.memories.rows import locked_rows, memory_columns, to_memories
from openbrain.adapters.sql.outbox.journal import PUBLIC, Journal
from openbrain.adapters.sql.schema.agent_tables import standing_queries
from openbrain.adapters.sql.schema.inserts import insert_rows
from openbrain.adapters.sql.schema.lifecycle_tables import operation_changes
from openbrain.adapters.sql.schema.memory_rows import columns_of, json_text
from openbrain.adapters.sql.schema.tables import BY_AGE, former_inputs, memories, memory_history, memory_passages
from openbrain.adapters.sql.tenants import other_texts
from openbrain.adapters.sql.tenants.lifecycle.applying import NOTE_CHARS, note_of, origin_of, runs
from openbrain.adapters.sql.tenants.lifecycle.subjects import PLACE, following
from openbrain.adapters.sql.writes import locked_reads
from openbrain.adapters.sql.writes.dedupe import dedupe_key
from openbrain.adapters.sql.writes.erasing import merged_beside, queue_purge, traces_of
from openbrain.adapters.sql.writes.quotas import recount
from openbrain.domain.access.visibility import everything, matcher
from openbrain.domain.ids import content_hash, uuid7
from openbrain.domain.memory import Memory, Reason
from openbrain.ports.cleaning import (
    Clean,
    Cleaned,
    CleanText,
    HistoryText,
    MemoryTexts,
    OtherText,
    OtherTextsCursor,
    Party,
    Spellings,
)
from openbrain.ports.lifecycle import Action, Place, Selection
from openbrain.ports.store.operations import Operation
from openbrain.ports.store.writes import Bulk
from openbrain.usecases.content.cleaning import summary

_NOT_ERASED = func.coalesce(memories.c.reason, "") != Reason.ERASED.value
_LINE = (memory_history.c.memory_id, *(memory_history.c[name] for name in ("id", "before", "after", "note")))
_AT_ONCE = 500


class SqlCleansing(TimedPart):
    """`ports.cleaning.Cleansing`."""

    async def texts(self, selection: Selection, limit: int, after: Place | None) -> Sequence[MemoryTexts]:
        return await self._read(_page, selection, limit, after)

    async def clean(self, operation: Operation, selection: Selection, ids: Sequence[str], clean: Clean) -> int:
        return await self._claim(_clean, operation, selection, ids, clean, self._clock.now())

    async def found(self, operation_id: str) -> Mapping[str, int]:
        return await self._read(_found, operation_id)

    async def clean_others(
        self, operation: Operation, clean: CleanText, *, dry_run: bool, party: Party | None = None
    ) -> int:
        """Use one transaction per table and page of rows: after an interruption the next run continues."""
        changed = 0
        for kept in other_texts.TEXTS:
            after: other_texts.Keys | None = None
            while True:
                rows, after = await self._write(_clean_table, operation, kept, party, clean, after, dry_run)
                changed += rows
                if after is None:
                    break
        return changed

    async def count_beside(self, workspace_id: str, party: Party) -> int:
        return await self._read(other_texts.count, workspace_id, party)

    async def page_beside(
        self, workspace_id: str, party: Party, after: OtherTextsCursor | None
    ) -> tuple[Sequence[OtherText], OtherTextsCursor | None]:
        return await self._read(other_texts.page, workspace_id, party, after)

    async def merged_beside(self, bulk: Bulk) -> Sequence[str]:
        return await self._read(merged_beside, bulk)

    async def spellings(self, workspace_id: str) -> tuple[Spellings, Spellings]:
        return await self._read(_spellings, workspace_id)


def _selected(selection: Selection) -> Any:
    condition = compiled(everything(selection.workspace_id, selection.criteria))
    return and_(condition, _NOT_ERASED, memories.c.created_at <= selection.made_by)


def _page(connection: Connection, selection: Selection, limit: int, after: Place | None) -> list[MemoryTexts]:
    """Return the next page that has texts; pages that are held as a whole are skipped. Empty at the end."""
    while True:
        where = _selected(selection), following(connection, after)
        query = select(*memory_columns(connection)).where(*where).order_by(*PLACE).limit(limit)
        rows = to_memories(connection, connection.execute(along(query, memories, BY_AGE)))
        texts = _texts(connection, selection, rows)
        if texts or len(rows) < limit:
            return texts
        after = (rows[-1].created_at, rows[-1].id)


def _texts(connection: Connection, selection: Selection, rows: Sequence[Memory]) -> list[MemoryTexts]:
    kept = matcher(held(connection, selection.workspace_id))
    rows = [row for row in rows if not kept(row)]
    lines: dict[str, list[HistoryText]] = {row.id: [] for row in rows}
    query = select(*_LINE).order_by(memory_history.c.id)
    for memory_id, *line in among(connection, query, memory_history.c.memory_id, lines):
        lines[memory_id].append(HistoryText(*line))
    return [MemoryTexts(row, lines[row.id]) for row in rows]


def _clean(
    connection: Connection, operation: Operation, selection: Selection, ids: Sequence[str], clean: Clean, now: int
) -> int:
    if not runs(connection, operation):
        return 0
    rows = locked_rows(connection, and_(memories.c.id.in_(ids), _selected(selection)))
    rows.sort(key=lambda row: (row.created_at, row.id))
    cleaned = [(texts, new) for texts in _texts(connection, selection, rows) if (new := clean(texts)) is not None]
    if not cleaned:
        return 0
    before = [texts.memory for texts, _ in cleaned]
    traces = traces_of(connection, before)
    journal = Journal(now)
    after = [_store(connection, operation, journal, texts, new) for texts, new in cleaned]
    here = [memory.id for memory in before]
    connection.execute(delete(operation_changes).where(operation_changes.c.memory_id.in_(here)))
    # The memories will be embedded again; the purge removes the vectors of their former texts.
    for table in (memory_passages, former_inputs):
        connection.execute(delete(table).where(table.c.memory_id.in_(here)))
    lines = [_line(operation, memory, new, now) for memory, (_, new) in zip(after, cleaned, strict=True)]
    insert_rows(connection, operation_changes, lines, missing=True)
    journal.write(connection)
    queue_purge(connection, uuid7(now), after, traces, origin_of(operation), now)
    return len(cleaned)


def _line(operation: Operation, memory: Memory, cleaned: Cleaned, now: int) -> tuple[Any, ...]:
    """Return a row with the counts of findings by kind and place, for the report; never values."""
    about = (operation.workspace_id, operation.id, memory.id, Action.CLEANED.value, summary(cleaned.found)[:NOTE_CHARS])
    return (*about, memory.version, None, json_text({"found": cleaned.found}), now, "")


def _found(connection: Connection, operation_id: str) -> Mapping[str, int]:
    counts, after = Counter[str](), 0
    mine = operation_changes.c.operation_id == operation_id
    while True:
        query = select(operation_changes.c.id, operation_changes.c.before).where(mine, operation_changes.c.id > after)
        rows = connection.execute(query.order_by(operation_changes.c.id).limit(_AT_ONCE)).all()
        for _, before in rows:
            counts.update(orjson.loads(before)["found"])
        if len(rows) < _AT_ONCE:
            return counts
        after = rows[-1].id


def _store(
    connection: Connection, operation: Operation, journal: Journal, texts: MemoryTexts, cleaned: Cleaned
) -> Memory:
    row, new = texts.memory, cleaned.texts
    _store_history(connection, texts.history, new.history)
    after = row._replace(
        **{name: getattr(new.memory, name) for name in PUBLIC},
        content_hash=content_hash(new.memory.content),
        updated_at=journal.now,
        version=row.version + 1,
        # An ended memory is in no index, only its tombstones: its revision stays.
        revision=row.revision if row.ended else row.revision + 1,
    )
    values = columns_of(after, _key(connection, after))
    if not row.ended:
        recount(connection, row, after)
    blank = {"text_error": "", "vector_error": ""}
    connection.execute(update(memories).where(memories.c.id == row.id).values(**values | blank))
    journal.cleaned(after, origin_of(operation), note_of(operation, summary(cleaned.found)))
    return after


def _key(connection: Connection, after: Memory) -> str | None:
    """Return the duplicate key; None if the row is a duplicate: it was allowed to be one, or cleaning removed what made
    it differ."""
    had = connection.scalar(select(memories.c.dedupe_key).where(memories.c.id == after.id))
    if had is None:
        return None
    key = dedupe_key(after)
    holder = locked_reads.holders(connection, [key]).get(key)
    return key if holder is None or holder.id == after.id else None


def _store_history(connection: Connection, before: Sequence[HistoryText], after: Sequence[HistoryText]) -> None:
    changed = [new._asdict() for old, new in zip(before, after, strict=True) if old != new]
    if not changed:
        return
    rows = [{"line": line.pop("id"), **line} for line in changed]
    connection.execute(update(memory_history).where(memory_history.c.id == bindparam("line")), rows)


def _clean_table(
    connection: Connection,
    operation: Operation,
    kept: other_texts.Texts,
    party: Party | None,
    clean: CleanText,
    after: other_texts.Keys | None,
    dry_run: bool,
) -> tuple[int, other_texts.Keys | None]:
    """Clean one page of rows, in primary key order; return the number changed and the cursor."""
    if not runs(connection, operation):
        return 0, None
    table, names, keys = kept.table, kept.names, kept.keys
    query = select(*keys, *(table.c[name] for name in names)).where(
        *kept.of(operation.workspace_id, party), *kept.behind(after)
    )
    rows = connection.execute(query.order_by(*keys).limit(_AT_ONCE)).all()
    changes = _changes(kept, rows, clean)
    if changes and not dry_run:
        # Read again, locked: what another clean or an edit has written meanwhile would be overwritten.
        these = or_(*(_row_of(keys, key) for key in changes))
        changes = _changes(kept, connection.execute(query.where(these).order_by(*keys).with_for_update()).all(), clean)
        if table is standing_queries and changes:
            forget_vectors(connection, operation.workspace_id, [query_id for (query_id,) in changes])
        for key, new in changes.items():
            connection.execute(update(table).where(_row_of(keys, key)).values({**new, **kept.hashes}))
    return len(changes), tuple(rows[-1][: len(keys)]) if len(rows) == _AT_ONCE else None


def _changes(
    kept: other_texts.Texts, rows: Sequence[Sequence[Any]], clean: CleanText
) -> dict[other_texts.Keys, dict[str, str]]:
    """Return the new texts of the rows that change, by primary key. A row is its key and its texts."""
    changes: dict[other_texts.Keys, dict[str, str]] = {}
    for row in rows:
        key, texts = tuple(row[: len(kept.keys)]), dict(zip(kept.names, row[len(kept.keys) :], strict=True))
        new = {name: clean(text)[: _limit(kept.table.c[name])] for name, text in texts.items() if text}
        if new := {name: text for name, text in new.items() if text != texts[name]}:
            changes[key] = new
    return changes


def _row_of(keys: "Sequence[Column[Any]]", key: other_texts.Keys) -> ColumnElement[bool]:
    return and_(*(column == value for column, value in zip(keys, key, strict=True)))


def _limit(column: "Column[Any]") -> int | None:
    length = getattr(column.type, "length", None)
    return int(length) if length else None


def _spellings(connection: Connection, workspace_id: str) -> tuple[Mapping[str, int], Mapping[str, int]]:
    tags, projects = Counter[str](), Counter[str]()
    mine = and_(memories.c.workspace_id == workspace_id, memories.c.reason.is_(None))
    query = select(memories.c.project, memories.c.tags, func.count()).where(mine)
    for project, listed, number in connection.execute(query.group_by(memories.c.project, memories.c.tags)):
        if project:
            projects[project] += number
        for tag in orjson.loads(listed):
            tags[tag] += number
    return tags, projects
