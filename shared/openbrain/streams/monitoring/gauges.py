"""Lag, pending and dead letters of a service's streams, asked of Redis when somebody looks."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from openbrain.domain.events.streams import dead_letters
from openbrain.observability import metrics
from openbrain.streams.redis import entry_ids
from openbrain.streams.redis.connection import AWAY, ask, errors_as_try_later, is_gone
from openbrain.streams.redis.keys import PARKED
from openbrain.streams.redis.scripts import counted

_FRESH_S = 1.0


class Gauges:
    """Of one group and its streams."""

    def __init__(self, group: str, streams: Sequence[str]) -> None:
        self._group, self._streams = group, streams
        self._lock = asyncio.Lock()
        self._at = float("-inf")

    async def refresh(self, client: Redis) -> None:
        """Ask, unless somebody did within the last second. What can't be asked keeps its last value."""
        async with self._lock:
            if time.monotonic() - self._at < _FRESH_S:
                return
            self._at = time.monotonic()
            for stream in self._streams:
                try:
                    await self._measure(client, stream)
                except AWAY:
                    continue

    async def _measure(self, client: Redis, stream: str) -> None:
        labels = (stream, self._group)
        metrics.STREAM_LENGTH.labels(stream).set(await client.xlen(stream))
        metrics.STREAM_DEAD_LETTERS.labels(*labels).set(await client.xlen(dead_letters(*labels)))
        group = (await groups_of(client, stream)).get(self._group)
        if group is None:
            return
        lag = await lag_of(client, stream, group)
        metrics.STREAM_LAG.labels(*labels).set(lag)
        waits = await first_undelivered(client, stream, group) if lag else None
        metrics.STREAM_UNDELIVERED_SECONDS.labels(*labels).set(await _age_s(client, waits) if waits else 0)
        metrics.STREAM_PENDING.labels(*labels).set(group["pending"])
        metrics.STREAM_CONSUMERS.labels(*labels).set(group["consumers"])
        pending = await client.xpending(stream, self._group)
        held = {item["name"]: item["pending"] for item in pending["consumers"]}
        metrics.STREAM_PARKED.labels(*labels).set(held.get(PARKED.encode(), 0))
        metrics.STREAM_OLDEST_SECONDS.labels(*labels).set(await _age_s(client, pending["min"]) if pending["min"] else 0)


async def groups_of(client: Redis, stream: str) -> dict[str, dict[str, Any]]:
    """XINFO GROUPS by name; empty when the stream is missing. Raises what redis-py raises otherwise."""
    try:
        groups = await client.xinfo_groups(stream)
    except ResponseError as error:
        if is_gone(error):
            return {}
        raise
    return {group["name"].decode(): group for group in groups}


async def lag_of(client: Redis, stream: str, group: Mapping[str, Any]) -> int:
    """Entries that a group (of `groups_of`) was not given yet; 0 exactly. Raises what redis-py raises."""
    if group["lag"] is not None:
        # A Redis that was restarted, or has taken over, may still count what was read before as unread.
        waits = group["lag"] and await first_undelivered(client, stream, group)
        return int(group["lag"]) if waits else 0
    # Redis can't tell after entries were deleted in the middle.
    return await counted(client, stream, entry_ids.behind(group["last-delivered-id"].decode()), "+")


async def behind(client: Redis, stream: str, groups: Sequence[str]) -> int:
    """Of the group that is furthest behind: entries not given to it yet and those in its hands. `TryLater`."""
    with errors_as_try_later():
        states = await groups_of(client, stream)
        if not set(groups) <= states.keys():
            return int(await client.xlen(stream))
        return max([await lag_of(client, stream, states[name]) + int(states[name]["pending"]) for name in groups])


async def first_undelivered(client: Redis, stream: str, group: Mapping[str, Any] | None) -> bytes | None:
    """The id of the first entry that a group (of `groups_of`) was not given yet; of all for one that never came."""
    after = "-" if group is None else entry_ids.behind(group["last-delivered-id"].decode())
    entries = await ask(client, "XRANGE", stream, after, "+", "COUNT", 1) if after else []
    return entries[0][0] if entries else None


async def _age_s(client: Redis, entry: bytes) -> float:
    seconds, micros = await client.time()
    return max(0.0, seconds + micros / 1e6 - entry_ids.first_part(entry) / 1000)
