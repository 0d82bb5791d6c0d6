"""The state of streams and groups, read from the server and counted where it does not know."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from redis.asyncio import Redis

from openbrain.domain.events.streams import dead_letters, replays
from openbrain.ports.streams import ConsumerState, GroupState, Parked, Readers, Span, StreamState
from openbrain.settings import Streams
from openbrain.streams.monitoring.gauges import first_undelivered, groups_of, lag_of
from openbrain.streams.redis.connection import ask, server_time
from openbrain.streams.redis.entry_ids import age_s, behind
from openbrain.streams.redis.keys import PARKED
from openbrain.streams.redis.scripts import counted

SHOWN = 20
"""Number shown of parked entries (those due first) and of consumers (those with the most pending entries)."""
_PAGE = 1000


@dataclass(frozen=True, slots=True)
class Look:
    """One inspection: all ages are measured against the same time of the server's clock."""

    client: Redis
    settings: Streams
    now: int
    """The server's clock, in microseconds."""

    async def stream(self, name: str, groups: Sequence[str], outside: Sequence[str]) -> StreamState:
        """Return the state of one stream, by its name without the prefix. Raises redis-py's errors."""
        full = self.settings.prefix + name
        existing = await groups_of(self.client, full)
        first, last = await _first(self.client, full), await _last(self.client, full)
        length = int(await self.client.xlen(full))
        known = dict.fromkeys(groups, Readers.SERVICE) | dict.fromkeys(outside, Readers.OUTSIDE)
        known |= {group: Readers.UNREGISTERED for group in sorted(existing) if group not in known}
        states = [await self._group(full, group, kind, existing.get(group), length) for group, kind in known.items()]
        return StreamState(name=name, length=length, first_id=first, last_id=last, groups=states)

    async def _group(
        self, stream: str, name: str, readers: Readers, info: Mapping[str, Any] | None, length: int
    ) -> GroupState:
        dead = int(await self.client.xlen(dead_letters(stream, name)))
        undelivered = self._age(await first_undelivered(self.client, stream, info))
        if info is None:
            return GroupState(
                name=name,
                readers=readers,
                exists=False,
                lag=length,
                pending=0,
                oldest_undelivered_s=undelivered,
                dead_letters=dead,
            )
        pending = await self.client.xpending(stream, name)
        parked = await self._parked(stream, name)
        return GroupState(
            name=name,
            readers=readers,
            exists=True,
            lag=await lag_of(self.client, stream, info),
            pending=int(pending["pending"]),
            parked=len(parked),
            due=sorted(parked, key=lambda item: item.due_in_s)[:SHOWN],
            oldest_undelivered_s=undelivered,
            oldest_pending_s=self._age(pending["min"]),
            consumers=await self._consumers(stream, name),
            dead_letters=dead,
            replaying=await self._replaying(stream, name),
        )

    def _age(self, entry: bytes | None) -> float | None:
        return None if entry is None else round(age_s(entry, self.now), 3)

    async def _parked(self, stream: str, group: str) -> list[Parked]:
        """Return all entries that wait for an attempt. Parked entries are due at the same idle time, whatever their
        pause."""
        ripe_ms = round(max(self.settings.backoff_s, default=0) * 1000)
        parked: list[Parked] = []
        after: str | None = "-"
        while after:
            page: Any = await self.client.xpending_range(stream, group, after, "+", _PAGE, PARKED)
            for item in page:
                due_in_ms = max(0, ripe_ms - item["time_since_delivered"])
                parked.append(Parked(entry=item["message_id"].decode(), due_in_s=due_in_ms / 1000))
            after = behind(parked[-1].entry) if page else None
        return parked

    async def _consumers(self, stream: str, group: str) -> list[ConsumerState]:
        consumers = [
            ConsumerState(name=consumer["name"].decode(), pending=consumer["pending"], idle_s=consumer["idle"] / 1000)
            for consumer in await self.client.xinfo_consumers(stream, group)
            if consumer["name"] != PARKED.encode()
        ]
        return sorted(consumers, key=lambda item: (-item.pending, item.idle_s))[:SHOWN]

    async def _replaying(self, stream: str, group: str) -> int:
        replay = replays(stream, group)
        info = (await groups_of(self.client, replay)).get(group)
        return 0 if info is None else await lag_of(self.client, replay, info) + int(info["pending"])


async def look(
    client: Redis, settings: Streams, streams: Mapping[str, Sequence[str]], outside: Sequence[tuple[str, str]] = ()
) -> list[StreamState]:
    """Return the state of each stream (name without the prefix, to the groups of its services). Raises redis-py's
    errors."""
    one = Look(client, settings, await server_time(client))
    return [
        await one.stream(name, groups, [group for stream, group in outside if stream == name])
        for name, groups in streams.items()
    ]


async def span(client: Redis, stream: str, from_id: str, to_id: str) -> Span:
    """Return the entries of a stream (full name) between two ids; '+' becomes the id of the present last entry."""
    first, last = await _first(client, stream), await _last(client, stream)
    if first is None or last is None:
        return Span(begins_id=None, from_id=from_id, to_id=to_id, entries=0)
    to_id = last if to_id == "+" else to_id
    entries = await counted(client, stream, from_id, to_id)
    return Span(begins_id=first, from_id=from_id, to_id=to_id, entries=entries)


async def _first(client: Redis, stream: str) -> str | None:
    entries = await ask(client, "XRANGE", stream, "-", "+", "COUNT", 1)
    return entries[0][0].decode() if entries else None


async def _last(client: Redis, stream: str) -> str | None:
    entries = await ask(client, "XREVRANGE", stream, "+", "-", "COUNT", 1)
    return entries[0][0].decode() if entries else None
