"""Job `relay`: publish the events of the outbox on their streams, in order."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from openbrain.domain.errors import OpenBrainError, TryLater
from openbrain.domain.memory import MICROSECONDS
from openbrain.observability.metrics import OUTBOX_OLDEST_SECONDS, STREAM_DEAD_LETTERS_FILLED
from openbrain.ports.clock import Clock
from openbrain.ports.store.outbox import Outbox, OutboxEntry
from openbrain.ports.store.signals import StaleSequence
from openbrain.ports.streams import Wake

PATIENCE_S = 3.0
"""Longest wait of a scrape for the database."""


class Publisher(Protocol):
    """Publishes encoded events."""

    async def publish(self, entries: Sequence[tuple[str, bytes]]) -> Sequence[Exception | None]:
        """Publish (stream without prefix, body) in order. Return None or the error for each."""


Settle = Callable[[OutboxEntry], Awaitable[None]]


class BroadcastStreams(Protocol):
    """Publishes broadcasts independently of the outbox's order."""

    lock: asyncio.Lock
    """Held while broadcasts are published."""

    async def settle(self, entry: OutboxEntry) -> None: ...

    async def ahead(self) -> int: ...


async def relay(outbox: Outbox, publisher: Publisher, limit: int, settle: Settle) -> int:
    """Publish the oldest events of the outbox and delete those that the server accepted. Return the number deleted.

    A crash in between publishes some events twice, which every consumer tolerates. Refused events wait; those behind
    them that were accepted must not be published again in every round. `settle` handles a broadcast whose number its
    stream has passed.
    """
    entries = await outbox.take(limit)
    if not entries:
        return 0
    results = await publisher.publish([(entry.stream, entry.body) for entry in entries])
    done: list[int] = []
    refused: Exception | None = None
    for entry, result in zip(entries, results, strict=True):
        if isinstance(result, StaleSequence):
            await settle(entry)
        elif result is not None:
            refused = refused or result
            continue
        done.append(entry.id)
    if done:
        await outbox.delete(done)
    if refused is not None:
        raise TryLater(f"the stream server refused an event ({type(refused).__name__}); the outbox keeps it")
    return len(done)


async def relay_outbox(outbox: Outbox, publisher: Publisher, broadcasting: BroadcastStreams, limit: int) -> int:
    """Do one round. If the batch was full, publish the broadcasts that wait behind other events."""
    async with broadcasting.lock:
        done = await relay(outbox, publisher, limit, broadcasting.settle)
        if done >= limit:
            await broadcasting.ahead()
    return done


async def measure(outbox: Outbox, clock: Clock, *, leading: bool) -> None:
    """Update the gauges, when metrics are read. Every replica measures the outbox, so that its age is known also while
    none leads."""
    if not leading:
        STREAM_DEAD_LETTERS_FILLED.clear()  # the leader measures it; a former one must show no old value
    try:
        async with asyncio.timeout(PATIENCE_S):
            oldest = await outbox.unpublished_since()
    except (OpenBrainError, TimeoutError):
        return  # keep the last value
    OUTBOX_OLDEST_SECONDS.set(0 if oldest is None else max(0, clock.now() - oldest) / MICROSECONDS)


async def until_more(wake: Wake, limit: int, poll_s: float, done: int) -> None:
    """Wait until a commit wakes the relay, or `poll_s`. Do not wait after a full batch: there may be more."""
    if done < limit:
        await wake.wait(poll_s)
