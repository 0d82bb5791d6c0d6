"""Ends the leases of consumers that are known to be gone."""

from typing import Any

from redis.asyncio import Redis

from openbrain.settings import Streams
from openbrain.streams.redis.keys import PARKED

_AT_ONCE = 1000


async def end_leases(client: Redis, settings: Streams) -> int:
    """Let every pending entry be claimed at once, as an abandoned one; return how many. Only for a server without any
    running consumer: entries of one would be handled a second time. Raises redis-py's errors."""
    ended = 0
    async for stream in client.scan_iter(match=f"{settings.prefix}*", _type="stream"):
        for group in await client.xinfo_groups(stream):
            for consumer in await client.xinfo_consumers(stream, group["name"]) if group["pending"] else ():
                if consumer["pending"] and consumer["name"] != PARKED.encode():
                    ended += await _end(client, settings, stream, group["name"], consumer["name"])
    return ended


async def _end(client: Redis, settings: Streams, stream: bytes, group: bytes, consumer: bytes) -> int:
    first, ended = "-", 0
    while entries := await client.xpending_range(stream, group, first, "+", _AT_ONCE, consumername=consumer):
        ids: list[Any] = [entry["message_id"] for entry in entries]
        idle_ms = round(settings.lease_s * 1000)
        await client.xclaim(stream, group, consumer, 0, ids, idle=idle_ms, justid=True)
        first, ended = "(" + ids[-1].decode(), ended + len(ids)
    return ended
