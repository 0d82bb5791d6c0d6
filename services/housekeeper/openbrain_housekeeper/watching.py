"""Reconciliation, wired: what it compares, which streams it looks at, how often."""

import asyncio
from collections.abc import Sequence
from functools import partial

from redis.asyncio import Redis

from openbrain.domain.memory import MICROSECONDS
from openbrain.domain.streams import EMBEDDED, REINDEX, STORED, SUPERSEDED
from openbrain.ports.generations import IndexKind
from openbrain.runtime import adapters
from openbrain.runtime.container import Container
from openbrain.runtime.leader import PeriodicJob
from openbrain.streams.monitoring.oldest_entry import waiting_since
from openbrain_housekeeper.comparing import Asked
from openbrain_housekeeper.filling import LOOK_S, Filling
from openbrain_housekeeper.gate import Gate
from openbrain_housekeeper.reconciliation import Everything, Marks
from openbrain_housekeeper.verifying import Indexes, Verifier

_GROUPS = {IndexKind.TEXT: {"indexer-text"}, IndexKind.VECTOR: {"embedder", "indexer-vector"}}
_SHORT_S = 0.02
"""Between two pieces of a comparison: it is in no hurry."""
_DRAIN_S = 1.0
"""After something was announced, before more is."""


def verifier(container: Container, client: Redis) -> Verifier:
    """On these parts."""
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
    asked = Asked(
        repair=True,
        patient=False,
        grace=round(settings.housekeeping.tuning.grace_s * MICROSECONDS),
        retention=round(settings.streams.retention_s * MICROSECONDS),
    )
    indexes: Indexes = {IndexKind.TEXT: lambda: container.text, IndexKind.VECTOR: lambda: container.vectors}
    return Verifier(
        container.store,
        indexes,
        Gate(container.store.outbox.unpublished_since, oldest, container.clock),
        container.clock,
        asked,
    )


def duties(container: Container, own: Verifier) -> Sequence[PeriodicJob]:
    """What it does by itself. Embedded indexes are compared by the process that they belong to."""
    settings = container.settings.housekeeping
    marks = Marks(own)

    async def announce() -> int:
        announced = await marks.round()
        if announced:
            await container.wake.notify()
        return announced

    async def after_marks(announced: int) -> None:
        await asyncio.sleep(
            min(_DRAIN_S, settings.tuning.reconcile_every_s) if announced else settings.tuning.reconcile_every_s
        )

    found = [PeriodicJob("reconcile", announce, after_marks, settings.tuning.reconcile_every_s)]
    if not container.shared and adapters.EMBEDDED in (container.settings.text.url, container.settings.vectors.url):
        return found
    everything = Everything(own, settings.verify_every_s, settings.digests_every_s)
    filling = Filling(
        own,
        {
            IndexKind.TEXT: lambda generation: container.text.prepare(generation.name),
            IndexKind.VECTOR: lambda generation: container.vectors.prepare(generation.name, generation.dimensions),
        },
    )

    async def compare() -> int:
        done = await everything.round()
        if done:
            await container.wake.notify()
        return done

    async def after_piece(done: int) -> None:
        await asyncio.sleep(_SHORT_S if done else everything.pause_s)

    async def fill() -> int:
        done = await filling.round()
        if done:
            await container.wake.notify()
        return done

    return [
        *found,
        PeriodicJob("verify", compare, after_piece, settings.verify_every_s),
        PeriodicJob("fill", fill, lambda _: asyncio.sleep(filling.pause_s), LOOK_S),
    ]
