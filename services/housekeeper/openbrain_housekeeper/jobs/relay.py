"""Job `relay`: finished events of the outbox are published on their streams, in order."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from openbrain.domain.errors import TryLater
from openbrain.domain.memory import MICROSECONDS
from openbrain.observability.metrics import OUTBOX_OLDEST_SECONDS
from openbrain.ports.clock import Clock
from openbrain.ports.store.outbox import Outbox, OutboxEntry
from openbrain.ports.store.signals import StaleSequence
from openbrain.ports.streams import Wake


class Publisher(Protocol):
    """Publishes finished events."""

    async def publish(self, entries: Sequence[tuple[str, bytes]]) -> Sequence[Exception | None]:
        """(stream without prefix, body) in order; a result for each."""


Settle = Callable[[OutboxEntry], Awaitable[None]]


class BroadcastStreams(Protocol):
    """The writer of broadcasts beside the outbox."""

    lock: asyncio.Lock
    """Held by whoever publishes broadcasts."""

    async def settle(self, entry: OutboxEntry) -> None: ...

    async def ahead(self) -> int: ...


async def relay(outbox: Outbox, publisher: Publisher, limit: int, settle: Settle) -> int:
    """Publish the oldest events of the outbox and delete those that were taken.

    A crash in between publishes some of them twice; every reader takes that. From the first one refused on, the
    rest waits, so that the order of one memory's events is kept. `settle`: sees to a broadcast that its stream has
    passed. Returns how many left the outbox.
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
            refused = result
            break
        done.append(entry.id)
    if done:
        await outbox.delete(done)
    if refused is not None:
        raise TryLater(f"the stream server refused an event ({type(refused).__name__}); the outbox keeps it")
    return len(done)


async def relay_outbox(outbox: Outbox, publisher: Publisher, broadcasting: BroadcastStreams, limit: int) -> int:
    """One round; after a full one, broadcasts that wait behind others are published first."""
    async with broadcasting.lock:
        done = await relay(outbox, publisher, limit, broadcasting.settle)
        if done >= limit:
            await broadcasting.ahead()
    return done


async def measure_outbox(outbox: Outbox, clock: Clock) -> int:
    """Bring the age of what waits up to date; nothing is done by it."""
    oldest = await outbox.unpublished_since()
    OUTBOX_OLDEST_SECONDS.set(0 if oldest is None else max(0, clock.now() - oldest) / MICROSECONDS)
    return 0


async def until_more(wake: Wake, limit: int, poll_s: float, done: int) -> None:
    """Wait until a commit wakes the relay; not after a full batch, which says that there is more."""
    if done < limit:
        await wake.wait(poll_s)
