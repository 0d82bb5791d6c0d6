"""Gauges of a service's streams (lag, pending, dead letters), read from Redis when they are scraped."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from openbrain.domain.events.streams import dead_letters
from openbrain.observability import metrics
from openbrain.streams.redis import entry_ids
from openbrain.streams.redis.connection import AWAY, ask, errors_as_try_later, is_gone, server_time
from openbrain.streams.redis.keys import PARKED
from openbrain.streams.redis.scripts import counted

_FRESH_S = 1.0
PATIENCE_S = 3.0
"""Longest wait of a scrape for Redis. Prometheus takes a slow scrape for a process that does not answer."""


class Gauges:
    """The gauges of one group and its streams."""

    def __init__(self, group: str, streams: Sequence[str]) -> None:
        self._group, self._streams = group, streams
        self._lock = asyncio.Lock()
        self._at = float("-inf")

    async def refresh(self, client: Redis) -> None:
        """Update the gauges, at most once a second. A gauge that can't be read keeps its last value."""
        async with self._lock:
            if time.monotonic() - self._at < _FRESH_S:
                return
            self._at = time.monotonic()
            with suppress(*AWAY):
                async with asyncio.timeout(PATIENCE_S):
                    await self._measure_all(client)

    async def _measure_all(self, client: Redis) -> None:
        for stream in self._streams:
            try:
                await self._measure(client, stream)
            except ResponseError:  # of this key; any other error is the server's, and every stream would wait for it
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
    """Return XINFO GROUPS by name; empty if the stream is missing. Raises redis-py's other errors."""
    try:
        groups = await client.xinfo_groups(stream)
    except ResponseError as error:
        if is_gone(error):
            return {}
        raise
    return {group["name"].decode(): group for group in groups}


async def lag_of(client: Redis, stream: str, group: Mapping[str, Any]) -> int:
    """Return the number of entries not yet delivered to a group (of `groups_of`); exact for 0. Raises redis-py's
    errors."""
    if group["lag"] is not None:
        # After a restart or failover Redis may count entries as unread that were read before.
        waits = group["lag"] and await first_undelivered(client, stream, group)
        return int(group["lag"]) if waits else 0
    # Redis does not know the lag after entries were deleted in the middle.
    return await counted(client, stream, entry_ids.behind(group["last-delivered-id"].decode()), "+")


async def behind(client: Redis, stream: str, groups: Sequence[str]) -> int:
    """Return undelivered plus pending entries of the group that is furthest behind. `TryLater` while Redis does not
    answer."""
    with errors_as_try_later():
        states = await groups_of(client, stream)
        if not set(groups) <= states.keys():
            return int(await client.xlen(stream))
        return max([await lag_of(client, stream, states[name]) + int(states[name]["pending"]) for name in groups])


async def first_undelivered(client: Redis, stream: str, group: Mapping[str, Any] | None) -> bytes | None:
    """Return the id of the first entry not yet delivered to a group (of `groups_of`); of the stream's first if the
    group does not exist."""
    after = "-" if group is None else entry_ids.behind(group["last-delivered-id"].decode())
    entries = await ask(client, "XRANGE", stream, after, "+", "COUNT", 1) if after else []
    return entries[0][0] if entries else None


async def _age_s(client: Redis, entry: bytes) -> float:
    return entry_ids.age_s(entry, await server_time(client))
