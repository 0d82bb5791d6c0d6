"""Since when something waits in a stream for a group: unread, in hand or parked."""

from collections.abc import Iterable

from redis.asyncio import Redis

from openbrain.domain.memory import MICROSECONDS
from openbrain.ports.clock import Clock
from openbrain.streams.monitoring.gauges import first_undelivered, groups_of
from openbrain.streams.redis.connection import ask, errors_as_try_later
from openbrain.streams.redis.entry_ids import first_part

_MICROSECONDS = 1000
"""Of a millisecond, in which the ids of entries count."""


async def oldest_waiting(client: Redis, readers: Iterable[tuple[str, str]]) -> int | None:
    """Find when the oldest entry was added that one of these groups (stream's full name, group) has not acknowledged,
    microseconds by the server's clock; None where nothing waits. `TryLater` while the server does not answer."""
    with errors_as_try_later("what waits in it is not known"):
        times = [await _oldest(client, stream, group) for stream, group in readers]
    return min((item for item in times if item is not None), default=None)


async def waiting_since(client: Redis, readers: Iterable[tuple[str, str]], clock: Clock) -> int | None:
    """Find that time by our own clock, rather too early than too late. The two may differ by hours; how long something
    waits is the same by both."""
    oldest = await oldest_waiting(client, readers)
    if oldest is None:
        return None
    now = clock.now()
    with errors_as_try_later():
        seconds, micros = await ask(client, "TIME")
    return now - (int(seconds) * MICROSECONDS + int(micros) - oldest)


async def _oldest(client: Redis, stream: str, group: str) -> int | None:
    known = (await groups_of(client, stream)).get(group)
    waiting = [await first_undelivered(client, stream, known)]
    if known is not None and known["pending"]:
        waiting.append((await client.xpending(stream, group))["min"])
    return min((first_part(entry) * _MICROSECONDS for entry in waiting if entry), default=None)
