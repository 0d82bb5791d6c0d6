"""Broadcast streams: an entry's id is the broadcast's number, `<seq>-0`, so that stream and truth speak of the same.

One stream a workspace. Nobody's group reads it; each agent has a cursor of its own.
"""

from collections.abc import Sequence

import orjson
from redis.asyncio import Redis

from openbrain.domain.events.envelope import FIELD
from openbrain.domain.events.streams import BROADCAST
from openbrain.streams.operating.trim import remove
from openbrain.streams.redis.connection import ask, errors_as_try_later
from openbrain.streams.redis.scripts import Script

_FIRST = BROADCAST.name + "."
_TOPS = Script("tops", common="")
_WHAT = "looking at broadcasts waits for it"
FARTHEST = 2**32
"""So much further than the truth, or than a reader, a stream can be after the database was put back."""


def believable(number: int, known: int) -> bool:
    """Whether an entry may have this number where `known` was given last, or heard last: else somebody forged it, and
    who follows it hears nothing any more."""
    return number <= known + FARTHEST


def stream_of(workspace_id: str) -> str:
    """The name of its stream, without the settings' prefix."""
    return _FIRST + workspace_id


def workspace_of(stream: str) -> str:
    """The workspace of a stream (named without the prefix); '' for one that is no broadcast's."""
    return stream.removeprefix(_FIRST) if stream.startswith(_FIRST) else ""


def number_of(event: bytes) -> int:
    """The `seq` of a broadcast's event."""
    return int(orjson.loads(event)["data"]["seq"])


async def tops(client: Redis, streams: Sequence[str]) -> list[int]:
    """The highest number that each stream (full name) has held since the server began it; 0 where there is none.
    `TryLater` while the server does not answer, as below."""
    with errors_as_try_later(_WHAT):
        ids = await _TOPS(client, streams)
    return [int(item.partition(b"-")[0] or 0) for item in ids]


async def begin_anew(client: Redis, stream: str) -> None:
    """Take a stream (full name) away with all that it holds: its numbers begin at nothing."""
    with errors_as_try_later(_WHAT):
        await client.delete(stream)


async def held(client: Redis, stream: str, number: int) -> bytes | None:
    """The event of this number, as the stream (full name) holds it."""
    with errors_as_try_later(_WHAT):
        entries = await ask(client, "XRANGE", stream, f"{number}-0", f"{number}-0")
    return next((fields.get(FIELD.encode()) for _, fields in entries), None)


async def trim(client: Redis, stream: str, before: int) -> int:
    """Remove what is numbered below `before` from a stream (full name), in whole blocks; how many."""
    with errors_as_try_later(_WHAT):
        return await remove(client, stream, (before, 0))
