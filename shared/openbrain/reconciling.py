"""An index held against the truth: what differs, and what makes them equal again. Knows no broker and no engine.

Sums of buckets say where to look. What is found is looked at once more, the index before the row: a row's revision only
rises, so whatever is above it then was never the truth's.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from openbrain.ids import BUCKETS, digest, point_id
from openbrain.ids import bucket as bucket_of
from openbrain.ports.generations import Generation, GenerationStatus
from openbrain.ports.index import Accountable, Standing, Sum, Tombstone
from openbrain.ports.reconciling import Due, Reconciling

SUMMED = 20_000
"""Rows of the truth that one statement adds up."""
LOOKED_AT = 1000
"""Rows compared one by one between two breaths."""
AT_ONCE = 5_000
"""Rows of the truth, or entries of an index, that are in memory at a time."""


class Fault(StrEnum):
    """How a memory's entries differ from its row."""

    MISSING = "missing"
    STALE = "stale"
    WAITING = "waiting"
    """Its vectors are not there yet."""
    UNMARKED = "unmarked"
    """The index may have it, but nobody noted so."""
    AHEAD = "ahead"
    """An entry or tombstone of a revision that the row has not come to."""
    GHOST = "ghost"
    """An entry that should not be."""
    VECTOR = "vector"
    """A tombstone that still has the vector of what it stands for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One memory that differs, or for a ghost one entry."""

    fault: Fault
    memory_id: str
    entry_id: str
    seen: int
    """The highest revision seen in the index; 0 for none."""
    revision: int
    """The row's; 0 without one."""
    changed_at: int
    """When the row last changed; 0 without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The sums of both sides."""

    due: Sum
    standing: Sum
    differing: frozenset[int]
    """Buckets."""


class Index(Accountable, Protocol):
    """What is asked of an index to make it equal; both ports have it."""

    async def write(self, name: str, entries: Sequence[Tombstone]) -> Mapping[str, Exception]:
        """Fenced."""


def judge(row: Due | None, entries: Iterable[Standing], builder: str) -> list[Difference]:
    """What differs between a row and everything that stands in the index for it. A failed row is left alone."""
    standing = {each.id: each for each in entries}
    if row is None:
        return [_difference(Fault.GHOST, None, each) for each in standing.values() if not each.tombstone]
    top = max(standing.values(), key=lambda each: each.revision, default=None)
    if top is not None and top.revision > row.revision:
        return [_difference(Fault.AHEAD, row, top)]
    if row.failed:
        return []
    if row.waiting:
        return [_difference(Fault.WAITING, row, top)]
    due = {point_id(row.memory_id, number): number for number in range(row.passages)}
    found = [
        _difference(Fault.GHOST, row, each) for each in standing.values() if not each.tombstone and each.id not in due
    ]
    lacking = next(
        (fault for entry_id, number in due.items() if (fault := _lack(row, standing.get(entry_id), number, builder))),
        None,
    )
    if lacking is not None:
        found.append(_difference(lacking, row, top))
    if not found and not row.marked:
        found.append(_difference(Fault.UNMARKED, row, top))
    return found


def _lack(row: Due, entry: Standing | None, passage: int, builder: str) -> Fault | None:
    if entry is None or entry.tombstone:
        return Fault.MISSING
    due = digest(row.memory_id, passage, row.revision, row.updated_at, row.content_hash, builder)
    return None if entry.digest == due else Fault.STALE


def _difference(fault: Fault, row: Due | None, entry: Standing | None) -> Difference:
    owner = row.memory_id if row is not None else entry.memory_id if entry is not None else ""
    return Difference(
        fault=fault,
        memory_id=owner,
        entry_id=owner if entry is None else entry.id,
        seen=0 if entry is None else entry.revision,
        revision=0 if row is None else row.revision,
        changed_at=0 if row is None else row.changed_at,
    )


async def accounting(
    truth: Reconciling, index: Accountable, generation: Generation, *, digests: bool = True
) -> AsyncIterator[Account]:
    """`account` part by part: each is about the rows that were added up so far, the last about all of them. Without
    `digests` an engine may only count."""
    standing = await index.sums(generation.name, digests=digests)
    due: dict[int, Sum] = {}
    async for after, until in spans(truth):
        for number, some in (await truth.due_sums(generation, after, until)).items():
            due[number] = _plus(due.get(number, Sum()), some)
        yield _account(due, standing)
    yield _account(due, standing)


def _account(due: Mapping[int, Sum], standing: Mapping[int, Sum]) -> Account:
    differing = frozenset(
        number
        for number in due.keys() | standing.keys()
        if not _equal(due.get(number, Sum()), standing.get(number, Sum()))
    )
    return Account(due=_total(due.values()), standing=_total(standing.values()), differing=differing)


def _equal(due: Sum, standing: Sum) -> bool:
    return due.entries == standing.entries and standing.digests in (None, due.digests)


async def account(truth: Reconciling, index: Accountable, generation: Generation) -> Account:
    """Add both sides up. Cheap for us: the databases and engines do it; rows are not read."""
    found = [each async for each in accounting(truth, index, generation)]
    return found[-1]


async def spans(truth: Reconciling, size: int = SUMMED) -> AsyncIterator[tuple[str, str]]:
    """The truth cut into parts: behind this id, up to that one."""
    after = ""
    while (until := await truth.walk(after, size)) is not None:
        yield after, until
        after = until


def _plus(one: Sum, other: Sum) -> Sum:
    known = one.digests is not None and other.digests is not None
    digests = (one.digests or 0) + (other.digests or 0) if known else None
    return Sum(one.entries + other.entries, digests, one.tombstones + other.tombstones)


def _total(sums: Iterable[Sum]) -> Sum:
    total = Sum()
    for each in sums:
        total = _plus(total, each)
    return total


async def differences(
    truth: Reconciling, index: Accountable, generation: Generation, buckets: Collection[int], standing: int
) -> AsyncIterator[list[Difference]]:
    """What differs in these buckets, some at a time: first what the index lacks, then what it has too much.
    `standing`: how much stands in all of the index, tombstones too; rows and entries are read in parts after it."""
    if not buckets:
        return
    async for after, until in spans(truth, min(SUMMED, AT_ONCE * BUCKETS // len(buckets))):
        rows = await truth.due_in(generation, after, until, buckets)
        for start in range(0, len(rows), LOOKED_AT):
            yield await _lacking(truth, index, generation, rows[start : start + LOOKED_AT])
    ordered = sorted(buckets)
    together = max(1, AT_ONCE * BUCKETS // max(1, standing))
    for start in range(0, len(ordered), together):
        yield await _too_much(truth, index, generation, ordered[start : start + together])


async def _lacking(
    truth: Reconciling, index: Accountable, generation: Generation, rows: Sequence[Due]
) -> list[Difference]:
    entries = await _entries(index, generation, rows)
    suspects = [row for row in rows if judge(row, entries[row.memory_id], generation.builder)]
    living = {row.memory_id for row in rows if row.living}
    found = await look(truth, index, generation, suspects) if suspects else []
    # What is too much is found from the other side, with all that stands there.
    return [each for each in found if not _too_much_of(each, living)]


async def look(truth: Reconciling, index: Accountable, generation: Generation, rows: Sequence[Due]) -> list[Difference]:
    """Once more: the entries and then the rows."""
    entries = await _entries(index, generation, rows)
    fresh = await truth.due(generation, [row.memory_id for row in rows])
    return [
        each for row in rows for each in judge(fresh.get(row.memory_id), entries[row.memory_id], generation.builder)
    ]


async def _entries(index: Accountable, generation: Generation, rows: Sequence[Due]) -> Mapping[str, list[Standing]]:
    """What stands under every id that these rows ever had."""
    ids = [point_id(row.memory_id, number) for row in rows for number in range(max(1, row.passages, row.high))]
    found: dict[str, list[Standing]] = defaultdict(list)
    for start in range(0, len(ids), LOOKED_AT):
        for each in (await index.read(generation.name, ids[start : start + LOOKED_AT])).values():
            found[each.memory_id].append(each)
    return found


async def _too_much(
    truth: Reconciling, index: Accountable, generation: Generation, buckets: Collection[int]
) -> list[Difference]:
    entries: dict[str, list[Standing]] = defaultdict(list)
    for each in await index.in_buckets(generation.name, buckets):
        entries[each.memory_id].append(each)
    ids = sorted(entries)
    found: list[Difference] = []
    for start in range(0, len(ids), LOOKED_AT):
        some = ids[start : start + LOOKED_AT]
        rows = await truth.due(generation, some)
        living = {row.memory_id for row in rows.values() if row.living}
        judged = (each for one in some for each in judge(rows.get(one), entries[one], generation.builder))
        found += [each for each in judged if _too_much_of(each, living)]
    return found


def _too_much_of(found: Difference, living: Collection[str]) -> bool:
    return found.fault is Fault.GHOST or (found.fault is Fault.AHEAD and found.memory_id not in living)


async def unmarked(truth: Reconciling, generation: Generation) -> AsyncIterator[list[Difference]]:
    """Rows that no indexer noted as done, some at a time, found in the truth alone: what a lost stream looks like."""
    async for after, until in spans(truth):
        start: str | None = after
        while start is not None:
            rows = await truth.unmarked(generation, start, until, AT_ONCE)
            yield [_difference(Fault.WAITING if row.waiting else Fault.UNMARKED, row, None) for row in rows]
            start = rows[-1].memory_id if len(rows) == AT_ONCE else None


async def repair(
    truth: Reconciling, index: Index, generation: Generation, found: Sequence[Difference], now: int
) -> None:
    """Make these equal: what is lacking is announced again, what is ahead is lifted, ghosts are removed."""
    ghosts = [
        Tombstone(
            id=each.entry_id,
            memory_id=each.memory_id,
            revision=max(each.seen, each.revision),
            bucket=bucket_of(each.memory_id),
            at=now,
        )
        for each in found
        if each.fault is Fault.GHOST
    ]
    if ghosts:
        failed = await index.write(generation.name, ghosts)
        for error in failed.values():
            raise error
    seen: dict[str, int] = {}
    for each in found:
        if each.fault is Fault.AHEAD:
            seen[each.memory_id] = max(each.seen, seen.get(each.memory_id, 0))
    if seen:
        await truth.lift(seen)
    again = {each.memory_id for each in found if each.fault not in (Fault.GHOST, Fault.AHEAD)}
    if again:
        serves = generation.status == GenerationStatus.SERVING
        await truth.announce_again(sorted(again), None if serves else generation.name)
