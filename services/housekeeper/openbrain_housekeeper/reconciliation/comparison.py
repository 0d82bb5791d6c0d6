"""Compares one generation of an index with the store, piece by piece, and counts or repairs each difference."""

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import structlog

from openbrain.domain.ids import BUCKETS
from openbrain.domain.ids import bucket as bucket_of
from openbrain.domain.memory import DAY, MICROSECONDS
from openbrain.domain.tasks import chunks
from openbrain.observability import metrics
from openbrain.ports.clock import Clock
from openbrain.ports.index import TextIndex, VectorIndex
from openbrain.ports.store.generations import Generation, IndexKind
from openbrain.ports.store.store import Store
from openbrain.usecases.indexes import comparison_sums, reconcile
from openbrain.usecases.indexes.reconcile import Difference, Fault
from openbrain_housekeeper.reconciliation.quiescent_since import QuiescentSince

REMEMBERED = 10_000
"""Maximum recently changed memories kept for a second look; more are left for the next comparison."""
AT_ONCE = 5_000
"""Memories announced before waiting until they have been taken: keeps the outbox short."""
PATIENCE = 60 * MICROSECONDS
"""The longest wait for that; later differences count as queued."""
FEW = 16
"""An index with at most this many entries is compared without checking that it belongs to this database."""
SAMPLED = 1_000
"""Entries sampled to check that an index belongs to this database."""
_ANNOUNCED = frozenset({Fault.MISSING, Fault.STALE, Fault.WAITING, Fault.UNMARKED})
_log = structlog.get_logger(__name__)
metrics.begin_at_zero(metrics.RECONCILE_DIFFERENCES, IndexKind, Fault)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonOptions:
    """Scope of a comparison, and whether differences are repaired. Times in microseconds."""

    full: bool = False
    """Compare every row and entry, even where the sums agree."""
    repair: bool = False
    digests: bool = True
    """Compare digests even if the engine must read every entry for them; otherwise such an engine compares counts."""
    restored: bool = False
    """The caller confirms that this is the right database, whatever the index holds."""
    patient: bool = True
    """Look at recent changes again after the grace time; otherwise leave them for the next comparison."""
    grace: int = 60 * MICROSECONDS
    """Changes younger than this are left to their own events."""
    retention: int = 7 * DAY
    """Tombstones older than this are removed: no stream holds an event from before them."""


@dataclass(slots=True)
class Tally:
    name: str
    kind: str
    status: str
    rows: int = 0
    """Expected entries."""
    entries: int = 0
    tombstones: int = 0
    differing_buckets: int = 0
    faults: Counter[Fault] = field(default_factory=Counter)
    queued: int = 0
    """Memories that differ because their event is on its way: announced, or changed just now."""
    recent: int = 0
    """The part of `queued` that changed just now."""
    repaired: int = 0
    removed_tombstones: int = 0
    note: str = ""

    def figures(self) -> dict[str, Any]:
        names = ("name", "kind", "status", "rows", "entries", "tombstones", "differing_buckets", "queued", "repaired")
        figures = {name: getattr(self, name) for name in (*names, "removed_tombstones", "note")}
        return figures | {"faults": {fault.value: self.faults[fault] for fault in Fault}}


class Comparison:
    """Compares one generation with the database."""

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
        """Yield after each bounded piece of work; True if there is nothing to do but wait."""
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
        self._tell()

    def _accounted(self, account: comparison_sums.Account) -> frozenset[int]:
        tally = self.tally
        tally.rows, tally.entries = account.due.entries, account.standing.entries
        tally.tombstones = account.standing.tombstones
        tally.differing_buckets = len(account.differing)
        return account.differing

    async def _foreign(self) -> bool:
        """True if most entries are of memories that the database does not know. Then index and database do not belong
        together, and nothing is removed."""
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
        # The index has no marks, so its sums do not show missing ones. Those in `buckets` were seen above.
        async for rows in reconcile.unmarked(self._store.expected_entries, self._generation):
            yield [row for row in rows if bucket_of(row.memory_id) not in buckets]

    async def _settled(self, differences: Sequence[Difference], *, again: bool = False) -> AsyncIterator[bool]:
        """Count lasting differences and repair them if requested; remember memories that changed just now."""
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
        for ids in chunks(sorted(self._young), reconcile.LOOKED_AT):
            rows = await self._store.expected_entries.by_id(self._generation, ids)
            differences = await reconcile.look(
                self._store.expected_entries, self._index, self._generation, list(rows.values())
            )
            async for waits in self._settled(differences, again=True):
                yield waits
            yield False

    async def _until_quiescent(self) -> AsyncIterator[bool]:
        """Wait until announced events have been taken, at most `PATIENCE`."""
        since = self._clock.now()
        kind = self._generation.kind
        while not (until := await self._quiescent.since(kind)) and self._clock.now() - since < PATIENCE:
            yield True
        self._quiescent_since = until

    def _tell(self) -> None:
        tally = self.tally
        if tally.faults:
            counts = {fault.value: count for fault, count in sorted(tally.faults.items())}
            _log.warning("reconcile.differences", index=tally.name, found=counts, repaired=tally.repaired)
