"""One stream, read as one consumer of one group: the operations of this process on its pending entries."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from redis.asyncio import Redis

from openbrain.domain.errors import error_kind, error_text
from openbrain.domain.events.streams import dead_letters
from openbrain.settings import Streams
from openbrain.streams.group.delivery import Delivery, Entry
from openbrain.streams.redis import scripts
from openbrain.streams.redis.connection import ask
from openbrain.streams.redis.entry_ids import behind
from openbrain.streams.redis.keys import DEAD_FIELDS, PARKED, retry_states

ALONE_AFTER = 2
"""An entry that was abandoned this often is handled alone: it may be crashing its consumers."""

_MOST_FIELDS = 1000
_AFTER_ALL = f"{2**64 - 2}-0"
"""Not the last possible id: that is how Redis represents `>`, new entries."""
_FOLDED = b"entry.fields"


@dataclass(frozen=True, slots=True)
class Taken:
    """An entry that was parked or abandoned before."""

    entry: Entry
    was_abandoned: bool


class ConsumerGroup:
    """Every method is one call to the server and raises redis-py's errors."""

    def __init__(
        self, client: Redis, stream: str, group: str, consumer: str, settings: Streams, *, replays: str = ""
    ) -> None:
        """`replays`: the stream whose entries are replayed on `stream`; dead letters go to those of that stream."""
        self.client, self.stream, self.group, self.consumer = client, stream, group, consumer
        self.dead = dead_letters(replays or stream, group)
        self.is_replay, self.metric_stream = bool(replays), replays or stream
        self._keys = (stream, retry_states(stream, group))
        self._backoff_ms = [round(pause * 1000) for pause in settings.backoff_s]
        # All parked entries are due at the same idle time: one with a shorter backoff is parked with an idle time above
        # 0.
        self._ripe_ms = max(self._backoff_ms, default=0)
        self._lease_ms = round(settings.lease_s * 1000)

    async def join(self) -> bool:
        """Create the group at the stream's beginning; False if it exists already."""
        return bool(await scripts.JOIN(self.client, self._keys, self.group))

    async def take(self, count: int, *, alone: bool, after: str = "") -> list[Taken]:
        """Claim due parked entries and abandoned ones, at most `count`. `alone`: if there are none, one that must be
        handled alone. `after`: only entries after this id."""
        since = behind(after) if after else "-"
        if since is None:
            return []
        args = (PARKED, self._ripe_ms, self._lease_ms, count, ALONE_AFTER, int(alone), since)
        taken = await scripts.TAKE(self.client, self._keys, self.group, self.consumer, *args)
        return [
            Taken(Entry(entry.decode(), fields, failures, abandonments), bool(abandoned))
            for entry, fields, failures, abandonments, abandoned in taken
        ]

    async def ack(self, ids: Sequence[str]) -> int:
        """Acknowledge those of these entries that are still ours; return how many."""
        return int(await scripts.ACK(self.client, self._keys, self.group, self.consumer, " ".join(ids)))

    async def park(self, failed: Iterable[tuple[Delivery[Any] | Entry, Exception]]) -> int:
        """Count a failed attempt of each entry and park it for its pause; return how many were still ours."""
        args: list[str | int] = []
        for held, error in failed:
            pause = self._backoff_ms[held.failures]
            args += [held.id, self._ripe_ms - pause, f"{error_kind(error)} {error_text(error)}"]
        return len(await scripts.PARK(self.client, self._keys, self.group, self.consumer, PARKED, *args))

    async def bury(self, entry: Entry, error: Exception, *, attempted: bool) -> bool:
        """Move the entry to the dead letters; False if it is no longer ours."""
        keys = (*self._keys, self.dead)
        about = (entry.id, int(attempted), error_kind(error), error_text(error))
        return bool(
            await scripts.BURY(self.client, keys, self.group, self.consumer, *about, *entry_fields(entry.fields))
        )

    async def renew(self, ids: Sequence[str]) -> list[str]:
        """Renew the leases of these entries; return the ids that are no longer ours."""
        lost = await scripts.RENEW(self.client, self._keys, self.group, self.consumer, " ".join(ids))
        return [item.decode() for item in lost]

    async def be_seen(self) -> None:
        """Count as a consumer that runs: Redis before 7.2 neither creates nor notices one whose reads find nothing."""
        # Its own entries after every id that is in use: this read is always answered at once, and changes nothing.
        read = ("XREADGROUP", "GROUP", self.group, self.consumer, "COUNT", 1)
        await ask(self.client, *read, "STREAMS", self.stream, _AFTER_ALL)

    async def give_back(self, ids: Sequence[str]) -> int:
        """Park these entries, due at once and without counting an attempt; return how many were still ours."""
        args = (self.group, self.consumer, PARKED, self._ripe_ms, " ".join(ids))
        return int(await scripts.GIVE_BACK(self.client, self._keys, *args))

    async def release(self) -> int:
        """Park our pending entries, due at once and without counting an attempt, and leave the group; return how
        many."""
        args = (self.group, self.consumer, PARKED, self._ripe_ms)
        return int(await scripts.RELEASE(self.client, self._keys, *args))

    async def last_buried(self) -> str:
        """Return the id of the last entry among the dead letters; '' if there is none, or while entries are pending."""
        if (await self.client.xpending(self.stream, self.group))["pending"] or not await self.client.exists(self.dead):
            return ""
        about: Any = await self.client.xinfo_stream(self.dead)
        entry: bytes = about["last-entry"][1][b"entry"] if about["last-entry"] else b""
        return entry.decode()

    async def tidy(self, idle_s: float = 3600) -> int:
        """Remove consumers without pending entries that were idle for `idle_s`; return how many."""
        args = (self.group, self.consumer, PARKED, round(idle_s * 1000))
        return int(await scripts.TIDY(self.client, self._keys, *args))


def entry_fields(fields: Sequence[bytes]) -> list[bytes]:
    """Return the entry's fields for a dead letter. Names that collide with ours get a prefix; very many fields are
    folded into one."""
    if len(fields) > _MOST_FIELDS:
        return [_FOLDED, orjson.dumps([field.decode(errors="backslashreplace") for field in fields])]
    names = (b"entry." + name if name in DEAD_FIELDS else name for name in fields[::2])
    return [part for pair in zip(names, fields[1::2], strict=True) for part in pair]


def folded(fields: Mapping[bytes, bytes]) -> list[bytes]:
    """Return the values of a dead letter whose fields were folded into one."""
    try:
        parts = orjson.loads(fields.get(_FOLDED, b"[]"))
    except orjson.JSONDecodeError:
        return []
    return [part.encode() for part in parts[1::2] if isinstance(part, str)] if isinstance(parts, list) else []
