"""Compares every index with the database: as a periodic job, and as the operation `verify`."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

import structlog

from openbrain.domain.memory import MICROSECONDS
from openbrain.observability import metrics
from openbrain.ports.clock import Clock
from openbrain.ports.index import TextIndex, VectorIndex
from openbrain.ports.store.generations import Generation, GenerationStatus, IndexKind
from openbrain.ports.store.store import Store
from openbrain.usecases.indexes import comparison_sums
from openbrain_housekeeper.reconciliation.comparison import Comparison, ComparisonOptions, Tally
from openbrain_housekeeper.reconciliation.quiescent_since import QuiescentSince

LIFTED = 2_000
"""Rows lifted per transaction."""
_COMPARED = (GenerationStatus.SERVING, GenerationStatus.KEPT)
_log = structlog.get_logger(__name__)

Indexes = Mapping[IndexKind, Callable[[], TextIndex | VectorIndex]]
"""Each index is created on demand."""


class Verifier:
    def __init__(
        self, store: Store, indexes: Indexes, quiescent: QuiescentSince, clock: Clock, options: ComparisonOptions
    ) -> None:
        """`options`: those of the periodic job; an operation's request replaces some of them."""
        self.store, self.indexes, self.quiescent, self.clock, self.options = store, indexes, quiescent, clock, options

    async def generations(self) -> Sequence[Generation]:
        """The generations to compare. One that is being built is compared by its reindex."""
        return [
            generation for generation in await self.store.generations.generations() if generation.status in _COMPARED
        ]


class Verification:
    """One comparison of all generations; it can be abandoned after any piece."""

    def __init__(self, verifier: Verifier, options: ComparisonOptions) -> None:
        self._verifier, self._asked = verifier, options
        self._tallies: list[Tally] = []

    async def pieces(self) -> AsyncIterator[bool]:
        """Yields after each bounded piece of the work: True if there is nothing to do but wait."""
        own = self._verifier
        for generation in await own.generations():
            index = own.indexes[generation.kind]()
            comparison = Comparison(
                own.store, index, generation, quiescent=own.quiescent, clock=own.clock, options=self._asked
            )
            self._tallies.append(comparison.tally)
            async for waits in comparison.pieces():
                yield waits
        metrics.RECONCILE_COMPLETED.set(own.clock.now() / MICROSECONDS)

    @property
    def seen(self) -> int:
        """Number of entries that should exist, in the generations compared so far."""
        return sum(tally.rows for tally in self._tallies)

    def summary(self) -> dict[str, Any]:
        differences = sum(tally.faults.total() for tally in self._tallies)
        return {
            "equal": not differences,
            "differences": differences,
            "queued": sum(tally.queued for tally in self._tallies),
            "repaired": sum(tally.repaired for tally in self._tallies),
            "indexes": [tally.figures() for tally in self._tallies],
        }


async def lift(verifier: Verifier) -> AsyncIterator[int]:
    """After a restore of the database: raise the revision of every row above any that an index has seen. Yields the
    number of rows lifted so far."""
    seen = [
        await verifier.indexes[generation.kind]().highest(generation.name)
        for generation in await verifier.generations()
    ]
    above = max(seen, default=0)
    lifted = 0
    async for after, until in comparison_sums.spans(verifier.store.expected_entries, LIFTED):
        lifted += await verifier.store.index_marks.lift_all(above, after, until)
        yield lifted
    _log.info("reconcile.lifted", rows=lifted, above=above)
