"""Claims parked and abandoned entries, and gives back entries that this process can't handle."""

from collections.abc import Sequence

import structlog

from openbrain.streams.group.consumer_group import Taken
from openbrain.streams.handling.consumer import Consumer

_log = structlog.get_logger(__name__)


async def reclaim(consumer: Consumer, count: int, loop: str, *, alone: bool) -> bool:
    """Handle at most `count` due or abandoned entries; return whether there was any. `alone`: as for
    `ConsumerGroup.take`. Raises redis-py's errors."""
    taken = await consumer.group.take(count, alone=alone)
    await _handle(consumer, taken, loop)
    return bool(taken)


async def probe(consumer: Consumer, loop: str) -> bool:
    """Handle one such entry, the next one after the last probe; return whether there was any. If there is none because
    those that failed are dead letters, reading continues. Raises redis-py's errors."""
    group, limit = consumer.group, consumer.limit
    taken = await group.take(1, alone=False, after=limit.probed) or await group.take(1, alone=True)
    if taken:
        limit.probed = taken[0].entry.id
    elif limit.gave(await group.last_buried()):
        limit.resume()
    await _handle(consumer, taken, loop)
    return bool(taken)


async def _handle(consumer: Consumer, taken: Sequence[Taken], loop: str) -> None:
    abandoned = sum(item.was_abandoned for item in taken)
    if abandoned:
        consumer.count("abandoned", abandoned)
        _log.warning("streams.entries_abandoned", stream=consumer.group.stream, entries=abandoned)
    if taken:
        consumer.count("taken", len(taken))
        in_hand = consumer.in_hand
        entries = [item.entry for item in taken if item.entry.id not in in_hand]
        uncounted = consumer.limit.take_uncounted(entries)
        await consumer.process([entry for entry in entries if entry.id not in uncounted], loop)
        await consumer.process([entry for entry in entries if entry.id in uncounted], loop, counted=False)


async def give_back(consumer: Consumer, loop: str) -> None:
    """Give the entries kept by the failure limit back to other consumers: due at once, without counting an attempt."""
    ids = consumer.limit.give_back()
    for entry in ids:
        consumer.held.pop(entry, None)
    await consumer.settlement.give_back(ids, loop)
