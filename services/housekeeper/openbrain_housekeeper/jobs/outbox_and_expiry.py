"""The housekeeper's duties as plain functions: each does one round and says how much it did."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from openbrain.domain.errors import TryLater
from openbrain.ports.outbox import Outbox, OutboxEntry
from openbrain.ports.signals import Passed
from openbrain.ports.store import Store


class Publisher(Protocol):
    """Publishes finished events."""

    async def publish(self, entries: Sequence[tuple[str, bytes]]) -> Sequence[Exception | None]:
        """(stream without prefix, body) in order; a result for each."""


Settle = Callable[[OutboxEntry], Awaitable[None]]


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
        if isinstance(result, Passed):
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


async def expire(store: Store, limit: int) -> int:
    """End memories whose time has come."""
    return await store.writes.expire_due(limit, await store.time())


async def purge(store: Store, limit: int, oldest_operation: int, oldest_recall: int) -> int:
    """Forget idempotency keys past their time, operations that ended before `oldest_operation`, and recalls answered
    before `oldest_recall` (microseconds)."""
    keys = await store.writes.purge_idempotency_keys(limit)
    recalls = await store.memories.purge_recalls(oldest_recall, limit)
    return max(keys, recalls, await store.operations.purge_operations(oldest_operation, limit))
