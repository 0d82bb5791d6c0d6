"""Turn submissions into memories; a repeated submission is stored once."""

import asyncio
from collections.abc import Sequence
from typing import Protocol

from openbrain.domain.errors import OpenBrainError
from openbrain.domain.events.envelope import CloudEvent
from openbrain.domain.events.submission import MemorySubmitted
from openbrain.ports.clock import Clock
from openbrain.ports.content import ContentPolicy
from openbrain.ports.store.writes import MemoryWrites
from openbrain.usecases.remember import Offer, remember
from openbrain.usecases.submit import Tenants, from_event

_AT_A_STRETCH = 64
"""Submissions turned into offers before yielding to the event loop."""


class Submitted(Protocol):
    """A submission, and the workspace that its stream is bound to, if any."""

    @property
    def event(self) -> CloudEvent[MemorySubmitted]: ...

    @property
    def workspace(self) -> str | None: ...


async def accept(
    submissions: Sequence[Submitted],
    *,
    writes: MemoryWrites,
    tenants: Tenants,
    clock: Clock,
    content_policy: ContentPolicy,
    key_lifetime: int,
) -> list[Exception | None]:
    """Store a batch in one transaction. A result for each: None, or why it was refused permanently."""
    results: list[Exception | None] = []
    offers: list[Offer] = []
    for number, submitted in enumerate(submissions, 1):
        if number % _AT_A_STRETCH == 0:
            await asyncio.sleep(0)
        try:
            offer = from_event(submitted.event, bound_workspace=submitted.workspace or "", key_lifetime=key_lifetime)
            await tenants.require(offer.actor.workspace_id)
        except OpenBrainError as error:
            results.append(error)
        else:
            offers.append(offer)
            results.append(None)
    outcomes = iter(await remember(offers, writes=writes, clock=clock, content_policy=content_policy))
    return [next(outcomes).error if result is None else result for result in results]
