"""Sums over both sides of a comparison, by bucket or finer: buckets with different sums must be examined."""

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
"""Rows summed per statement: about 10 ms of the interpreter on SQLite."""
PARTS = 1024
"""Parts per bucket in the finer comparison: 8 MiB in total."""
MARKED = 1_000
"""Rows per statement if their entries are read one by one: about 3 ms of the interpreter."""
_ONE, _DIGEST = 1 << 40, (1 << 32) - 1
"""Each entry adds one to a count, so that an entry with digest 0 matters too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    due: Sum
    standing: Sum
    differing: frozenset[int]
    """Numbers of the buckets that differ."""


async def accounting(
    expected_entries: ExpectedEntries, index: Accountable, generation: Generation, *, digests: bool = True
) -> AsyncIterator[Account]:
    """Yield `account` incrementally: each item covers the rows summed so far, the last one all. Without `digests` an
    engine may only count."""
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
    """Sum both sides. Cheap here: databases and engines do the work, and no rows are read."""
    accounts = [item async for item in accounting(expected_entries, index, generation)]
    return accounts[-1]


async def spans(expected_entries: ExpectedEntries, size: int = SUMMED) -> AsyncIterator[tuple[str, str]]:
    """Divide the rows into id ranges: (after, until]."""
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
    """Compare like `accounting`, but with so many parts that each of up to a million entries is almost alone in its
    part. This finds differences that cancel out in the sums of buckets. Entries written during the comparison differ
    too and are examined again.

    Each side is read once; no rows are transferred. Rows don't tell how many tombstones there should be, so only
    tombstones ahead of their row are reported.
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
    """Return the buckets of tombstones whose revision is above that of their row."""
    rows = await expected_entries.by_id(generation, {tombstone.memory_id for tombstone in tombstones})
    return [
        tombstone.bucket
        for tombstone in tombstones
        if tombstone.memory_id in rows and rows[tombstone.memory_id].revision < tombstone.revision
    ]
