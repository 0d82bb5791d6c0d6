"""The age of the oldest entry that waits in a stream for a group: unread, pending or parked."""

from collections.abc import Iterable

from redis.asyncio import Redis

from openbrain.ports.clock import Clock
from openbrain.streams.monitoring.gauges import first_undelivered, groups_of
from openbrain.streams.redis.connection import errors_as_try_later, server_time
from openbrain.streams.redis.entry_ids import first_part

_MICROSECONDS = 1000
"""Microseconds in a millisecond, the unit of entry ids."""


async def oldest_waiting(client: Redis, readers: Iterable[tuple[str, str]]) -> int | None:
    """Return when the oldest entry was added that one of these groups (stream's full name, group) has not acknowledged,
    in microseconds by the server's clock; None if nothing waits. `TryLater` while the server does not answer."""
    with errors_as_try_later("its waiting entries are not known"):
        times = [await _oldest(client, stream, group) for stream, group in readers]
    return min((item for item in times if item is not None), default=None)


async def waiting_since(client: Redis, readers: Iterable[tuple[str, str]], clock: Clock) -> int | None:
    """Return that time by our own clock, if inexact then too early. The two clocks may differ by hours; the age of an
    entry is the same by both."""
    oldest = await oldest_waiting(client, readers)
    if oldest is None:
        return None
    now = clock.now()
    with errors_as_try_later():
        return now - (await server_time(client) - oldest)


async def _oldest(client: Redis, stream: str, group: str) -> int | None:
    known = (await groups_of(client, stream)).get(group)
    waiting = [await first_undelivered(client, stream, known)]
    if known is not None and known["pending"]:
        waiting.append((await client.xpending(stream, group))["min"])
    return min((first_part(entry) * _MICROSECONDS for entry in waiting if entry), default=None)
