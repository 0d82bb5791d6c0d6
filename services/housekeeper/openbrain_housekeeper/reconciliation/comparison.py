"""Compares one generation of an index with the database, piece by piece, and counts or repairs each difference."""

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import structlog

from openbrain.domain.ids import BUCKETS
from openbrain.domain.ids import bucket as bucket_of
from openbrain.domain.memory import MICROSECONDS
from openbrain.observability import metrics
from openbrain.ports.clock import Clock
from openbrain.ports.index import TextIndex, VectorIndex
from openbrain.ports.store.generations import Generation, IndexKind
from openbrain.ports.store.store import Store
from openbrain.usecases.indexes import comparison_sums, reconcile
from openbrain.usecases.indexes.reconcile import Difference, Fault
from openbrain_housekeeper.reconciliation.quiescent_since import QuiescentSince

REMEMBERED = 10_000
"""Maximum number of recently changed memories that are checked once more; the others wait for the next comparison."""
AT_ONCE = 5_000
"""Rows announced before waiting until they have been taken, to keep the outbox short."""
PATIENCE = 60 * MICROSECONDS
"""Maximum wait for that; differences found after it count as queued."""
FEW = 16
"""An index with at most this many entries is compared whichever database they belong to."""
SAMPLED = 1_000
"""Number of memories sampled to find out whether the index belongs to the database."""
_ANNOUNCED = frozenset({Fault.MISSING, Fault.STALE, Fault.WAITING, Fault.UNMARKED})
_log = structlog.get_logger(__name__)
metrics.begin_at_zero(metrics.RECONCILE_DIFFERENCES, IndexKind, Fault)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonOptions:
    """Scope of a comparison, and whether differences are repaired. Times in microseconds."""

    full: bool = False
    """Compare every row and entry, even if the sums agree."""
    repair: bool = False
    digests: bool = True
    """Compare digests even if that requires reading every entry; otherwise only counts in that case."""
    restored: bool = False
    """The caller asserts that the database is the right one, whatever the index contains."""
    patient: bool = True
    """Check recent changes once more after the grace time; otherwise leave them for the next comparison."""
    grace: int = 60 * MICROSECONDS
    """Changes younger than this are expected to be on their way."""
    retention: int = 7 * 86_400 * MICROSECONDS
    """Older tombstones are removed: no stream has events from before them any more."""


@dataclass(slots=True)
class Tally:
    name: str
    kind: str
    status: str
    rows: int = 0
    """Number of entries that should exist."""
    entries: int = 0
    tombstones: int = 0
    differing_buckets: int = 0
    faults: Counter[Fault] = field(default_factory=Counter)
    queued: int = 0
    """Number of memories that differ and are on their way: announced, or changed recently."""
    recent: int = 0
    """Number of these that changed recently."""
    repaired: int = 0
    removed_tombstones: int = 0
    note: str = ""

    def figures(self) -> dict[str, Any]:
        names = ("name", "kind", "status", "rows", "entries", "tombstones", "differing_buckets", "queued", "repaired")
        figures = {name: getattr(self, name) for name in (*names, "removed_tombstones", "note")}
        return figures | {"faults": {fault.value: self.faults[fault] for fault in Fault}}


class Comparison:
    """Comparison of one generation with the database."""

    def __init__(
        self,
        store: Store,
        index: TextIndex | VectorIndex,
        generation: Generation,
        *,
        quiescent: QuiescentSince,
        clock: Clock,
        options: ComparisonOptions,
    ) -> None:
        self._store, self._index, self._generation = store, index, generation
        self._quiescent, self._clock, self._asked = quiescent, clock, options
        self._young: set[str] = set()
        self._young_until = 0
        self._quiescent_since = 0
        self._announced = 0
        self.tally = Tally(generation.name, generation.kind.value, str(generation.status))

    async def pieces(self) -> AsyncIterator[bool]:
        """Yields after each bounded piece of the work: True if there is nothing to do but wait."""
        if self._index.builder != self._generation.builder:
            built, ours = self._generation.builder, self._index.builder
            self.tally.note = f"built by {built}, and this version is {ours}: not compared"
            _log.warning("reconcile.another_builder", index=self._generation.name, builder=built, ours=ours)
            return
        async for waits in self._until_quiescent():
            yield waits
        differing: frozenset[int] = frozenset()
        expected = self._store.expected_entries
        accounts = (
            comparison_sums.closer(expected, self._index, self._generation)
            if self._asked.full
            else comparison_sums.accounting(expected, self._index, self._generation, digests=self._asked.digests)
        )
        async for account in accounts:
            differing = self._accounted(account)
            yield False
        if await self._foreign():
            return
        async for differences in self._found(differing):
            async for waits in self._settled(differences):
                yield waits
            yield False
        async for waits in self._young_settled():
            yield waits
        await self._look_for_left_vectors()
        yield False
        if self._asked.repair:
            before = self._clock.now() - self._asked.retention
            self.tally.removed_tombstones = await self._index.drop_tombstones(self._generation.name, before)
        self._log_differences()

    def _accounted(self, account: comparison_sums.Account) -> frozenset[int]:
        tally = self.tally
        tally.rows, tally.entries = account.due.entries, account.standing.entries
        tally.tombstones = account.standing.tombstones
        tally.differing_buckets = len(account.differing)
        return account.differing

    async def _foreign(self) -> bool:
        """True if most entries are of memories that the database does not know: the index or the database is the wrong
        one, so nothing is removed."""
        tally = self.tally
        if self._asked.restored or tally.entries <= max(FEW, 2 * tally.rows):
            return False
        buckets = range(max(1, min(BUCKETS, SAMPLED * BUCKETS // tally.entries)))
        some = self._index.in_buckets(tally.name, buckets)
        owners = sorted({item.memory_id async for page in some for item in page if not item.tombstone})[:SAMPLED]
        known = await self._store.expected_entries.by_id(self._generation, owners)
        if 2 * len(known) >= len(owners):
            return False
        tally.faults[Fault.GHOST] = tally.entries - tally.rows
        tally.note = (
            "nothing was changed: most of this index is of memories that the database does not know. Is it the right "
            "database (OPENBRAIN_TRUTH__URL)? If it is: `openbrain db restored`"
        )
        _log.warning("reconcile.foreign_index", index=tally.name, rows=tally.rows, entries=tally.entries)
        return True

    async def _found(self, buckets: frozenset[int]) -> AsyncIterator[Sequence[Difference]]:
        async for differences in reconcile.differences(
            self._store.expected_entries, self._index, self._generation, buckets
        ):
            yield differences
        # Marks are only in the database. Those in `buckets` were compared above.
        async for rows in reconcile.unmarked(self._store.expected_entries, self._generation):
            yield [row for row in rows if bucket_of(row.memory_id) not in buckets]

    async def _settled(self, differences: Sequence[Difference], *, again: bool = False) -> AsyncIterator[bool]:
        """Count real differences, remember recent changes for another check, and repair if requested."""
        now = self._clock.now()
        young = now - self._asked.grace
        settled: list[Difference] = []
        for difference in differences:
            changed_at = reconcile.stamp(difference.changed_at, now)
            if changed_at > young and not again and len(self._young) < REMEMBERED:
                self._young.add(difference.memory_id)
                self._young_until = max(self._young_until, changed_at + self._asked.grace)
            elif changed_at > young or (difference.fault in _ANNOUNCED and changed_at >= self._quiescent_since):
                self.tally.queued += 1
                self.tally.recent += changed_at > young
            else:
                settled.append(difference)
        if not settled:
            return
        for item in settled:
            self._add(item.fault)
        if self._asked.repair:
            await reconcile.repair(self._store, self._index, self._generation, settled, self._clock.now())
            self.tally.repaired += len(settled)
            announced = sum(item.fault is not Fault.GHOST for item in settled)
            self._announced += announced
            if announced:
                self._quiescent.announced()
            if self._announced >= AT_ONCE:
                self._announced = 0
                async for waits in self._until_quiescent():
                    yield waits

    async def _look_for_left_vectors(self) -> None:
        if self._generation.kind is not IndexKind.VECTOR:
            return
        left = await cast("VectorIndex", self._index).left_vectors(self._generation.name, clear=self._asked.repair)
        if left:
            self._add(Fault.VECTOR, left)
            self.tally.repaired += left if self._asked.repair else 0

    def _add(self, fault: Fault, count: int = 1) -> None:
        self.tally.faults[fault] += count
        metrics.RECONCILE_DIFFERENCES.labels(self._generation.kind.value, fault.value).inc(count)

    async def _young_settled(self) -> AsyncIterator[bool]:
        if not self._asked.patient:
            self.tally.queued += len(self._young)
            self.tally.recent += len(self._young)
            return
        while self._young and self._clock.now() <= self._young_until:
            yield True
        async for waits in self._until_quiescent():
            yield waits
        ids = sorted(self._young)
        for start in range(0, len(ids), reconcile.LOOKED_AT):
            rows = await self._store.expected_entries.by_id(self._generation, ids[start : start + reconcile.LOOKED_AT])
            differences = await reconcile.look(
                self._store.expected_entries, self._index, self._generation, list(rows.values())
            )
            async for waits in self._settled(differences, again=True):
                yield waits
            yield False

    async def _until_quiescent(self) -> AsyncIterator[bool]:
        """Wait until everything announced has been taken, at most `PATIENCE`."""
        since = self._clock.now()
        kind = self._generation.kind
        while not (until := await self._quiescent.since(kind)) and self._clock.now() - since < PATIENCE:
            yield True
        self._quiescent_since = until

    def _log_differences(self) -> None:
        tally = self.tally
        if tally.faults:
            counts = {fault.value: count for fault, count in sorted(tally.faults.items())}
            _log.warning("reconcile.differences", index=tally.name, found=counts, repaired=tally.repaired)
