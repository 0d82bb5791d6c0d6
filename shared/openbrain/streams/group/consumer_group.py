"""One stream as one consumer of one group: what this process may do to the entries it holds."""

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
from openbrain.streams.redis.entry_ids import behind
from openbrain.streams.redis.keys import DEAD_FIELDS, PARKED, retry_states

ALONE_AFTER = 2
"""An entry that was abandoned this often is handled by itself: it may be what ends its consumers."""

_MOST_FIELDS = 1000
_FOLDED = b"entry.fields"


@dataclass(frozen=True, slots=True)
class Taken:
    """An entry that was parked or abandoned before."""

    entry: Entry
    was_abandoned: bool


class ConsumerGroup:
    """Every method is one call to the server and raises what redis-py raises."""

    def __init__(
        self, client: Redis, stream: str, group: str, consumer: str, settings: Streams, *, replays: str = ""
    ) -> None:
        """`replays`: the stream whose entries come again on `stream`; its dead letters are theirs."""
        self.client, self.stream, self.group, self.consumer = client, stream, group, consumer
        self.dead = dead_letters(replays or stream, group)
        self.is_replay, self.metric_stream = bool(replays), replays or stream
        self._keys = (stream, retry_states(stream, group))
        self._backoff_ms = [round(pause * 1000) for pause in settings.backoff_s]
        # Parked entries are due at one idle time, whatever their backoff: they begin with the rest of it.
        self._ripe_ms = max(self._backoff_ms, default=0)
        self._lease_ms = round(settings.lease_s * 1000)

    async def join(self) -> bool:
        """Make the group at the stream's beginning; False if it stands already."""
        return bool(await scripts.JOIN(self.client, self._keys, self.group))

    async def take(self, count: int, *, alone: bool, after: str = "") -> list[Taken]:
        """Parked entries that are due and abandoned ones, at most so many; `alone`: where there are none, one that
        must be by itself; `after`: only such as came behind this one."""
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
        """Acknowledge what is still ours of these; how many that was."""
        return int(await scripts.ACK(self.client, self._keys, self.group, self.consumer, " ".join(ids)))

    async def park(self, failed: Iterable[tuple[Delivery[Any] | Entry, Exception]]) -> int:
        """Count a failed attempt of each and put it aside for its pause; how many were still ours."""
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
        """Renew the leases of these; the ids that are no longer ours."""
        lost = await scripts.RENEW(self.client, self._keys, self.group, self.consumer, " ".join(ids))
        return [item.decode() for item in lost]

    async def give_back(self, ids: Sequence[str]) -> int:
        """Let others have these, due at once and uncounted; how many were still ours."""
        args = (self.group, self.consumer, PARKED, self._ripe_ms, " ".join(ids))
        return int(await scripts.GIVE_BACK(self.client, self._keys, *args))

    async def release(self) -> int:
        """Give back what we hold, due at once and uncounted, and leave the group; how many that was."""
        args = (self.group, self.consumer, PARKED, self._ripe_ms)
        return int(await scripts.RELEASE(self.client, self._keys, *args))

    async def tidy(self, idle_s: float = 3600) -> int:
        """Remove consumers that hold nothing and were not heard of for so long; how many."""
        args = (self.group, self.consumer, PARKED, round(idle_s * 1000))
        return int(await scripts.TIDY(self.client, self._keys, *args))


def entry_fields(fields: Sequence[bytes]) -> list[bytes]:
    """The entry's own fields; those named like ours are set apart, and very many are put into one."""
    if len(fields) > _MOST_FIELDS:
        return [_FOLDED, orjson.dumps([field.decode(errors="backslashreplace") for field in fields])]
    names = (b"entry." + name if name in DEAD_FIELDS else name for name in fields[::2])
    return [part for pair in zip(names, fields[1::2], strict=True) for part in pair]


def folded(fields: Mapping[bytes, bytes]) -> list[bytes]:
    """The values of a dead letter whose fields were put into one."""
    try:
        parts = orjson.loads(fields.get(_FOLDED, b"[]"))
    except orjson.JSONDecodeError:
        return []
    return [part.encode() for part in parts[1::2] if isinstance(part, str)] if isinstance(parts, list) else []
