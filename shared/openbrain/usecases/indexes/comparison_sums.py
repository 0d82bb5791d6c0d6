"""Both sides of a comparison added up, in buckets or more closely: what differs shows where to look."""

from array import array
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from openbrain.domain.ids import BUCKETS
from openbrain.ports.index import Accountable, Standing, Sum
from openbrain.ports.store.generations import Generation
from openbrain.ports.store.index_entries import ExpectedEntries
from openbrain.usecases.background import GivesWay

SUMMED = 5_000
"""Rows of the truth that one statement adds up: on SQLite some 10 ms of the interpreter."""
PARTS = 1024
"""Of a bucket, where entries are compared more closely: 8 MiB for all."""
MARKED = 1_000
"""Rows of the truth whose entries are told one by one in one statement: some 3 ms of the interpreter."""
_ONE, _DIGEST = 1 << 40, (1 << 32) - 1
"""An entry counts, so that one with the digest 0 does too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    due: Sum
    standing: Sum
    differing: frozenset[int]
    """Buckets."""


async def accounting(
    expected_entries: ExpectedEntries, index: Accountable, generation: Generation, *, digests: bool = True
) -> AsyncIterator[Account]:
    """`account` part by part: each is about the rows that were added up so far, the last about all of them. Without
    `digests` an engine may only count."""
    indexed = await index.sums(generation.name, digests=digests)
    due: dict[int, Sum] = {}
    async for after, until in spans(expected_entries):
        for number, some in (await expected_entries.bucket_sums(generation, after, until)).items():
            due[number] = _plus(due.get(number, Sum()), some)
        yield _account(due, indexed)
    yield _account(due, indexed)


def _account(due: Mapping[int, Sum], indexed: Mapping[int, Sum]) -> Account:
    differing = set()
    for number in due.keys() | indexed.keys():
        ours, theirs = due.get(number, Sum()), indexed.get(number, Sum())
        if ours.entries != theirs.entries or theirs.digests not in (None, ours.digests):
            differing.add(number)
    return Account(due=_total(due.values()), standing=_total(indexed.values()), differing=frozenset(differing))


async def account(expected_entries: ExpectedEntries, index: Accountable, generation: Generation) -> Account:
    """Add both sides up. Cheap for us: the databases and engines do it; rows are not read."""
    accounts = [item async for item in accounting(expected_entries, index, generation)]
    return accounts[-1]


async def spans(expected_entries: ExpectedEntries, size: int = SUMMED) -> AsyncIterator[tuple[str, str]]:
    """The truth cut into parts: behind this id, up to that one."""
    after = ""
    while (until := await expected_entries.walk(after, size)) is not None:
        yield after, until
        after = until


def _plus(one: Sum, other: Sum) -> Sum:
    known = one.digests is not None and other.digests is not None
    digests = (one.digests or 0) + (other.digests or 0) if known else None
    return Sum(one.entries + other.entries, digests, one.tombstones + other.tombstones)


def _total(sums: Iterable[Sum]) -> Sum:
    return reduce(_plus, sums, Sum())


async def closer(
    expected_entries: ExpectedEntries, index: Accountable, generation: Generation
) -> AsyncIterator[Account]:
    """Compare like `accounting`, but in so many parts that each of up to a million entries is nearly alone: what
    differs is seen where the sums of buckets agree. What came while both were read differs too, and is looked at again.

    Each side is walked through once, and rows stay where they are. Of tombstones, which no row tells the number of,
    those that are ahead of their row are looked for.
    """
    gives_way = GivesWay()
    table = array("q", bytes(8 * PARTS * BUCKETS))
    due = entries = removed = 0
    ahead: set[int] = set()
    async for living, tombstones in index.entry_marks(generation.name):
        for mark in living:
            digest_of = mark & _DIGEST
            table[(mark >> 32) * PARTS + digest_of % PARTS] += _ONE + digest_of
        if tombstones:
            ahead.update(await _ahead(expected_entries, generation, tombstones))
        entries, removed = entries + len(living), removed + len(tombstones)
        yield Account(due=Sum(), standing=Sum(entries, 0, removed), differing=frozenset())
    async for after, until in spans(expected_entries, MARKED):
        marks = await expected_entries.marks(generation, after, until)
        for mark in marks:
            digest_of = mark & _DIGEST
            table[(mark >> 32) * PARTS + digest_of % PARTS] -= _ONE + digest_of
        due += len(marks)
        await gives_way()
        yield Account(due=Sum(due), standing=Sum(entries, 0, removed), differing=frozenset())
    parts, equal = memoryview(table).cast("B"), bytes(8 * PARTS)
    left = (item for item in range(BUCKETS) if parts[item * 8 * PARTS : (item + 1) * 8 * PARTS] != equal)
    yield Account(due=Sum(due), standing=Sum(entries, 0, removed), differing=frozenset(ahead.union(left)))


async def _ahead(
    expected_entries: ExpectedEntries, generation: Generation, tombstones: Sequence[Standing]
) -> Collection[int]:
    """The buckets of those whose revision their row has not come to."""
    rows = await expected_entries.by_id(generation, {tombstone.memory_id for tombstone in tombstones})
    return [
        tombstone.bucket
        for tombstone in tombstones
        if tombstone.memory_id in rows and rows[tombstone.memory_id].revision < tombstone.revision
    ]
