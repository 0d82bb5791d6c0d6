"""Taking one stuck entry out of a group's hands."""

from enum import IntEnum

from redis.asyncio import Redis

from openbrain.domain.streams import dead_letters
from openbrain.streams.redis.connection import ask
from openbrain.streams.redis.keys import retry_states
from openbrain.streams.redis.scripts import BURY_STUCK

BURIED = "Buried"
"""The error of a dead letter that an operator made."""


class Burial(IntEnum):
    """What became of it."""

    NOT_IN_HAND = 0
    """The group does not hold it: it was not delivered yet, or is done, or never was."""
    BURIED = 1
    GONE = 2
    """The group held it and its stream did not: nothing is left to keep."""


async def dead_letter(client: Redis, stream: str, group: str, entry: str, why: str) -> Burial:
    """Move an entry that a group has in hand, or that is parked, to the dead letters. Raises what redis-py raises."""
    keys = (stream, retry_states(stream, group), dead_letters(stream, group))
    return Burial(await BURY_STUCK(client, keys, group, entry, BURIED, why))


async def body_of(client: Redis, stream: str, entry: str) -> bytes | None:
    """The event of an entry, for who must know which memory it is of. Raises what redis-py raises."""
    found = await ask(client, "XRANGE", stream, entry, entry)
    return found[0][1].get(b"__data__") if found else None
