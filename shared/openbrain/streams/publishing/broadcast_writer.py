"""Broadcast streams: an entry's id is the broadcast's number, `<seq>-0`, the same as in the database.

One stream per workspace. No group reads it; each agent has its own cursor.
"""

from collections.abc import Sequence

import orjson
from redis.asyncio import Redis

from openbrain.domain.events.envelope import FIELD_BYTES
from openbrain.domain.events.streams import BROADCAST
from openbrain.streams.operating.trim import remove
from openbrain.streams.redis.connection import ask, errors_as_try_later
from openbrain.streams.redis.scripts import Script

_FIRST = BROADCAST.name + "."
_TOPS = Script("tops", common="")
_WHAT = "broadcasts can't be read now"
MOST_AHEAD = 2**32
"""How far a stream's numbers can be ahead of the database, or of a reader, after a restore of the database."""


def is_plausible(number: int, known: int) -> bool:
    """Whether an entry may have this number if `known` was the last one assigned or received. Else it is forged, and a
    reader that followed it would receive nothing any more."""
    return number <= known + MOST_AHEAD


def stream_of(workspace_id: str) -> str:
    """Return the name of a workspace's stream, without the prefix."""
    return _FIRST + workspace_id


def workspace_of(stream: str) -> str:
    """Return the workspace of a stream (named without the prefix); '' if it is not a broadcast stream."""
    return stream.removeprefix(_FIRST) if stream.startswith(_FIRST) else ""


def number_of(event: bytes) -> int:
    """Return the `seq` of a broadcast's event."""
    return int(orjson.loads(event)["data"]["seq"])


async def last_numbers(client: Redis, streams: Sequence[str]) -> list[int]:
    """Return the highest number that each stream (full name) has had since it was created; 0 if there is none.
    `TryLater` while the server does not answer, as in the functions below."""
    with errors_as_try_later(_WHAT):
        ids = await _TOPS(client, streams)
    return [int(item.partition(b"-")[0] or 0) for item in ids]


async def delete_stream(client: Redis, stream: str) -> None:
    """Delete a stream (full name): its numbers start again."""
    with errors_as_try_later(_WHAT):
        await client.delete(stream)


async def held(client: Redis, stream: str, number: int) -> bytes | None:
    """Return the event with this number in the stream (full name)."""
    with errors_as_try_later(_WHAT):
        entries = await ask(client, "XRANGE", stream, f"{number}-0", f"{number}-0")
    return next((fields.get(FIELD_BYTES) for _, fields in entries), None)


async def trim(client: Redis, stream: str, before: int) -> int:
    """Remove entries with numbers below `before` from a stream (full name), in complete blocks; return how many."""
    with errors_as_try_later(_WHAT):
        return await remove(client, stream, (before, 0))
