"""Reconciliation, wired: what it compares, which streams it looks at, how often."""

import asyncio
from collections.abc import Sequence
from functools import partial

from redis.asyncio import Redis

from openbrain.domain.memory import MICROSECONDS
from openbrain.domain.streams import EMBEDDED, REINDEX, STORED, SUPERSEDED
from openbrain.ports.generations import IndexKind
from openbrain.runtime import adapters
from openbrain.runtime.container import Parts
from openbrain.runtime.leader import Duty
from openbrain.streams.monitoring.waiting import waiting_since
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


def verifier(parts: Parts, client: Redis) -> Verifier:
    """On these parts."""
    prefix = parts.settings.streams.prefix
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
            parts.clock,
        )
        for kind, groups in _GROUPS.items()
    }
    settings = parts.settings
    asked = Asked(
        repair=True,
        patient=False,
        grace=round(settings.housekeeping.grace_s * MICROSECONDS),
        retention=round(settings.streams.retention_s * MICROSECONDS),
    )
    indexes: Indexes = {IndexKind.TEXT: lambda: parts.text, IndexKind.VECTOR: lambda: parts.vectors}
    return Verifier(parts.truth, indexes, Gate(parts.truth, oldest, parts.clock), parts.clock, asked)


def duties(parts: Parts, own: Verifier) -> Sequence[Duty]:
    """What it does by itself. Embedded indexes are compared by the process that they belong to."""
    settings = parts.settings.housekeeping
    marks = Marks(own)

    async def announce() -> int:
        announced = await marks.round()
        if announced:
            await parts.wake.notify()
        return announced

    async def after_marks(announced: int) -> None:
        await asyncio.sleep(min(_DRAIN_S, settings.reconcile_every_s) if announced else settings.reconcile_every_s)

    found = [Duty("reconcile", announce, after_marks, settings.reconcile_every_s)]
    if not parts.shared and adapters.EMBEDDED in (parts.settings.text.url, parts.settings.vectors.url):
        return found
    everything = Everything(own, settings.verify_every_s, settings.digests_every_s)
    filling = Filling(
        own,
        {
            IndexKind.TEXT: lambda generation: parts.text.prepare(generation.name),
            IndexKind.VECTOR: lambda generation: parts.vectors.prepare(generation.name, generation.dimensions),
        },
    )

    async def compare() -> int:
        done = await everything.round()
        if done:
            await parts.wake.notify()
        return done

    async def after_piece(done: int) -> None:
        await asyncio.sleep(_SHORT_S if done else everything.pause_s)

    async def fill() -> int:
        done = await filling.round()
        if done:
            await parts.wake.notify()
        return done

    return [
        *found,
        Duty("verify", compare, after_piece, settings.verify_every_s),
        Duty("fill", fill, lambda _: asyncio.sleep(filling.pause_s), LOOK_S),
    ]
