"""Wiring of reconciliation: which indexes it compares, which streams it watches, and how often."""

import asyncio
from collections.abc import Sequence
from functools import partial

from redis.asyncio import Redis

from openbrain.domain.events.streams import EMBEDDED, REINDEX, STORED, SUPERSEDED
from openbrain.domain.memory import MICROSECONDS
from openbrain.ports.store.generations import IndexKind
from openbrain.runtime import adapters
from openbrain.runtime.container import Container
from openbrain.runtime.leader import LONG_ROUND_S, PeriodicJob, notifying
from openbrain.streams.monitoring.oldest_entry import waiting_since
from openbrain_housekeeper.jobs.full_comparison import FullComparison
from openbrain_housekeeper.jobs.index_refill import LOOK_S, IndexRefill
from openbrain_housekeeper.jobs.unmarked_rows import Marks
from openbrain_housekeeper.reconciliation.comparison import ComparisonOptions
from openbrain_housekeeper.reconciliation.quiescent_since import QuiescentSince
from openbrain_housekeeper.reconciliation.verification import Indexes, Verifier

_GROUPS = {IndexKind.TEXT: {"indexer-text"}, IndexKind.VECTOR: {"embedder", "indexer-vector"}}
_SHORT_S = 0.02
"""Pause between two pieces of a comparison, which is not urgent."""
_DRAIN_S = 1.0
"""Longest pause after a round that announced rows."""


def verifier(container: Container, client: Redis) -> Verifier:
    prefix = container.settings.streams.prefix
    oldest = {
        kind: partial(
            waiting_since,
            client,
            [
                (prefix + spec.name, group)
                for spec in (STORED, EMBEDDED, SUPERSEDED, REINDEX)
                for group in spec.groups
                if group in groups
            ],
            container.clock,
        )
        for kind, groups in _GROUPS.items()
    }
    settings = container.settings
    options = ComparisonOptions(
        repair=True,
        patient=False,
        grace=round(settings.housekeeping.tuning.grace_s * MICROSECONDS),
        retention=round(settings.streams.retention_s * MICROSECONDS),
    )
    indexes: Indexes = {kind: partial(container.index, kind) for kind in IndexKind}
    return Verifier(
        container.store,
        indexes,
        QuiescentSince(container.store.outbox.unpublished_since, oldest, container.clock),
        container.clock,
        options,
    )


def reconciliation_jobs(container: Container, own: Verifier) -> Sequence[PeriodicJob]:
    """The reconciliation jobs. Embedded indexes are compared only by the process that owns them."""
    settings, wake = container.settings.housekeeping, container.wake
    every_s = settings.tuning.reconcile_every_s

    async def after_marks(announced: int) -> None:
        await asyncio.sleep(min(_DRAIN_S, every_s) if announced else every_s)

    jobs = [PeriodicJob("reconcile", notifying(wake, Marks(own).round), after_marks, every_s, LONG_ROUND_S)]
    if not container.shared and adapters.EMBEDDED in (container.settings.text.url, container.settings.vectors.url):
        return jobs
    comparison = FullComparison(own, settings.verify_every_s, settings.tuning.digests_every_s)
    refill = IndexRefill(own, container.prepare_index)

    async def after_piece(done: int) -> None:
        await asyncio.sleep(_SHORT_S if done else comparison.pause_s)

    return [
        *jobs,
        PeriodicJob("verify", notifying(wake, comparison.round), after_piece, settings.verify_every_s, LONG_ROUND_S),
        PeriodicJob(
            "fill", notifying(wake, refill.round), lambda _: asyncio.sleep(refill.pause_s), LOOK_S, LONG_ROUND_S
        ),
    ]
