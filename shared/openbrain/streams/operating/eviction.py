"""Evicts the oldest entries that all groups have read, if streams use too much memory."""

from collections.abc import Iterable, Mapping, Sequence
from math import ceil

from redis.asyncio import Redis

from openbrain.streams.operating.trim import removable, remove
from openbrain.streams.redis.connection import ask

_A_BLOCK = 100
"""Entries of a Redis stream block, at most: only complete blocks are removed."""


async def sizes(client: Redis, streams: Iterable[str]) -> dict[str, int]:
    """Return the bytes of each existing stream, as estimated by the server. Raises redis-py's errors."""
    usages = {stream: await ask(client, "MEMORY", "USAGE", stream) for stream in streams}
    return {stream: int(size) for stream, size in usages.items() if size}


async def shrink(client: Redis, streams: Mapping[str, Sequence[str]], budget: int) -> dict[str, int]:
    """If these streams (full name, to registered groups) use more than `budget` bytes together, remove the excess share
    of each stream's entries, oldest first; return the number removed, by stream. Raises redis-py's errors.

    Entries that a registered group has not acknowledged are always kept, so the streams may still be above the budget.
    """
    used = await sizes(client, streams)
    surplus = 1 - budget / max(1, sum(used.values()))
    removed = {}
    for stream in used if surplus > 0 else ():
        cut, _ = await removable(client, stream, streams[stream])
        most = max(_A_BLOCK, ceil(await client.xlen(stream) * surplus))
        if number := await remove(client, stream, cut, most):
            removed[stream] = number
    return removed
