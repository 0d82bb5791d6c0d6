"""Compares an index with the database and repairs differences. Independent of broker and engine.

Sums of buckets show where to look. A suspected difference is read again, first the index and then the row: because a
row's revision only rises, a higher revision in the index never came from the database.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from openbrain.domain.ids import BUCKETS, digest, point_id
from openbrain.domain.ids import bucket as bucket_of
from openbrain.domain.memory import MICROSECONDS
from openbrain.domain.tasks import chunks
from openbrain.ports.index import Accountable, Replaceable, Standing, Tombstone
from openbrain.ports.store.generations import Generation, GenerationStatus
from openbrain.ports.store.index_entries import ExpectedEntries, ExpectedRow
from openbrain.ports.store.store import Store
from openbrain.usecases.indexes.comparison_sums import SUMMED, spans

LOOKED_AT = 1000
"""Rows compared between two yields to the event loop."""
AT_ONCE = 5_000
"""Rows or index entries in memory at a time."""
AHEAD = 5 * MICROSECONDS
"""Tolerance between two readings of the database's time. A later time stamp came from a wrong clock: the true time of
change is unknown, and the row must not count as recent until then."""


class Fault(StrEnum):
    """A difference between a memory's entries and its row."""

    MISSING = "missing"
    STALE = "stale"
    WAITING = "waiting"
    """The row's vectors do not exist yet."""
    UNMARKED = "unmarked"
    """The index may hold it, but it is not marked as indexed."""
    AHEAD = "ahead"
    """An entry or tombstone with a higher revision than the row."""
    GHOST = "ghost"
    """An entry that should not exist."""
    VECTOR = "vector"
    """A tombstone that still has the vector of the removed entry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A memory that differs; for a ghost, one entry."""

    fault: Fault
    memory_id: str
    entry_id: str
    seen: int
    """The highest revision seen in the index; 0 for none."""
    revision: int
    """The row's revision; 0 without a row."""
    changed_at: int
    """The time of the row's last change; 0 without a row."""


def stamp(changed_at: int, now: int) -> int:
    """Return the time of the last change, or 0 if it is in the future."""
    return 0 if changed_at > now + AHEAD else changed_at


class Index(Accountable, Replaceable, Protocol):
    """An index as needed by reconciliation; both index ports satisfy it."""

    builder: str

    async def write(self, name: str, entries: Sequence[Tombstone]) -> Mapping[str, Exception]:
        """Write through the fence."""


def judge(row: ExpectedRow | None, entries: Iterable[Standing], builder: str) -> list[Difference]:
    """Return the differences between a row and its entries. A failed row is ignored."""
    by_id = {entry.id: entry for entry in entries}
    if row is None:
        return [_difference(Fault.GHOST, None, item) for item in by_id.values() if not item.tombstone]
    top = max(by_id.values(), key=lambda item: item.revision, default=None)
    if top is not None and top.revision > row.revision:
        return [_difference(Fault.AHEAD, row, top)]
    if row.failed:
        return []
    if row.waiting:
        return [_difference(Fault.WAITING, row, top)]
    due = {point_id(row.memory_id, number): number for number in range(row.passages)}
    faults = [
        _difference(Fault.GHOST, row, item) for item in by_id.values() if not item.tombstone and item.id not in due
    ]
    lacking = next(
        (fault for entry_id, number in due.items() if (fault := _lack(row, by_id.get(entry_id), number, builder))), None
    )
    if lacking is not None:
        faults.append(_difference(lacking, row, top))
    if not faults and not row.marked:
        faults.append(_difference(Fault.UNMARKED, row, top))
    return faults


def _lack(row: ExpectedRow, entry: Standing | None, passage: int, builder: str) -> Fault | None:
    if entry is None or entry.tombstone:
        return Fault.MISSING
    due = digest(row.memory_id, passage, row.revision, row.updated_at, row.content_hash, builder)
    return None if entry.digest == due else Fault.STALE


def _difference(fault: Fault, row: ExpectedRow | None, entry: Standing | None) -> Difference:
    owner = row.memory_id if row is not None else entry.memory_id if entry is not None else ""
    return Difference(
        fault=fault,
        memory_id=owner,
        entry_id=owner if entry is None else entry.id,
        seen=0 if entry is None else entry.revision,
        revision=0 if row is None else row.revision,
        changed_at=0 if row is None else row.changed_at,
    )


async def differences(
    expected_entries: ExpectedEntries, index: Accountable, generation: Generation, buckets: Collection[int]
) -> AsyncIterator[list[Difference]]:
    """Yield the differences in these buckets, in batches: first missing entries, then superfluous ones."""
    if not buckets:
        return
    async for after, until in spans(expected_entries, min(SUMMED, AT_ONCE * BUCKETS // len(buckets))):
        rows = await expected_entries.rows_in(generation, after, until, buckets)
        for some in chunks(rows, LOOKED_AT):
            yield await _lacking(expected_entries, index, generation, some)
    async for entries in index.in_buckets(generation.name, buckets):
        for found in chunks(entries, LOOKED_AT):
            yield await _too_much(expected_entries, index, generation, found)


async def _lacking(
    expected_entries: ExpectedEntries, index: Accountable, generation: Generation, rows: Sequence[ExpectedRow]
) -> list[Difference]:
    entries = await _entries(index, generation, rows)
    suspects = [row for row in rows if judge(row, entries[row.memory_id], generation.builder)]
    living = {row.memory_id for row in rows if row.living}
    lacking = await look(expected_entries, index, generation, suspects) if suspects else []
    # Superfluous entries are found from the index side, with everything that exists there.
    return [item for item in lacking if not _too_much_of(item, living)]


async def look(
    expected_entries: ExpectedEntries, index: Accountable, generation: Generation, rows: Sequence[ExpectedRow]
) -> list[Difference]:
    """Read the entries, then the rows, and compare again."""
    entries = await _entries(index, generation, rows)
    fresh = await expected_entries.by_id(generation, [row.memory_id for row in rows])
    return [
        item for row in rows for item in judge(fresh.get(row.memory_id), entries[row.memory_id], generation.builder)
    ]


async def _entries(
    index: Accountable, generation: Generation, rows: Sequence[ExpectedRow]
) -> Mapping[str, list[Standing]]:
    """Return the stored states of every id that these rows ever had."""
    ids = [point_id(row.memory_id, number) for row in rows for number in range(max(1, row.passages, row.high))]
    by_memory: dict[str, list[Standing]] = defaultdict(list)
    for some in chunks(ids, LOOKED_AT):
        for item in (await index.read(generation.name, some)).values():
            by_memory[item.memory_id].append(item)
    return by_memory


async def _too_much(
    expected_entries: ExpectedEntries, index: Accountable, generation: Generation, some: Sequence[Standing]
) -> list[Difference]:
    """Return superfluous ones among these entries. Other entries of the same memories may be in another batch; they are
    read only if something differs."""
    entries: dict[str, list[Standing]] = defaultdict(list)
    for item in some:
        entries[item.memory_id].append(item)
    rows = await expected_entries.by_id(generation, sorted(entries))
    living = {row.memory_id for row in rows.values() if row.living}

    def judged(owner: str, of: Iterable[Standing]) -> list[Difference]:
        return [item for item in judge(rows.get(owner), of, generation.builder) if _too_much_of(item, living)]

    suspects = [owner for owner, indexed in entries.items() if judged(owner, indexed)]
    others = await _entries(index, generation, [rows[owner] for owner in suspects if owner in rows])
    here = {item.id for item in some}
    return [
        item
        for owner in suspects
        for item in judged(owner, [*others.get(owner, ()), *entries[owner]])
        if item.entry_id in here
    ]


def _too_much_of(difference: Difference, living: Collection[str]) -> bool:
    return difference.fault is Fault.GHOST or (difference.fault is Fault.AHEAD and difference.memory_id not in living)


async def unmarked(expected_entries: ExpectedEntries, generation: Generation) -> AsyncIterator[list[Difference]]:
    """Yield rows that no indexer has marked, in batches, from the database only: the result of a lost stream."""
    async for after, until in spans(expected_entries):
        start: str | None = after
        while start is not None:
            rows = await expected_entries.unmarked(generation, start, until, AT_ONCE)
            yield [_difference(Fault.WAITING if row.waiting else Fault.UNMARKED, row, None) for row in rows]
            start = rows[-1].memory_id if len(rows) == AT_ONCE else None


async def repair(store: Store, index: Index, generation: Generation, faults: Sequence[Difference], now: int) -> None:
    """Repair: announce missing entries again, raise the revision of rows that are behind, remove ghosts."""
    ghosts = [
        Tombstone(
            id=item.entry_id,
            memory_id=item.memory_id,
            revision=max(item.seen, item.revision),
            bucket=bucket_of(item.memory_id),
            at=now,
        )
        for item in faults
        if item.fault is Fault.GHOST
    ]
    if ghosts:
        failed = await index.write(generation.name, ghosts)
        for error in failed.values():
            raise error
    seen: dict[str, int] = {}
    for item in faults:
        if item.fault is Fault.AHEAD:
            seen[item.memory_id] = max(item.seen, seen.get(item.memory_id, 0))
    if seen:
        await store.index_marks.lift(seen)
    again = {item.memory_id for item in faults if item.fault not in (Fault.GHOST, Fault.AHEAD)}
    if again:
        serves = generation.status == GenerationStatus.SERVING
        await store.outbox.announce_again(sorted(again), None if serves else generation.name)
