"""Giving up the oldest of what everybody has read, where streams use too much memory."""

from collections.abc import Iterable, Mapping, Sequence
from math import ceil

from redis.asyncio import Redis

from openbrain.streams.operating.trim import removable, remove
from openbrain.streams.redis.connection import ask

_A_BLOCK = 100
"""Entries of a block of Redis', at most: only whole blocks are removed."""


async def sizes(client: Redis, streams: Iterable[str]) -> dict[str, int]:
    """Bytes of each of these that there is, as the server estimates them. Raises what redis-py raises."""
    usages = {stream: await ask(client, "MEMORY", "USAGE", stream) for stream in streams}
    return {stream: int(size) for stream, size in usages.items() if size}


async def shrink(client: Redis, streams: Mapping[str, Sequence[str]], budget: int) -> dict[str, int]:
    """If these (full name, to its registered groups) use more than `budget` bytes together, remove of each as large
    a part of its oldest entries as is too much of all; the number removed, by stream. Raises what redis-py raises.

    Kept in any case: what a registered group has not acknowledged. So there may be too much afterwards, too.
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
