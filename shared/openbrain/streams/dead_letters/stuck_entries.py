"""Taking one stuck entry out of a group's hands."""

from redis.asyncio import Redis

from openbrain.domain.events.streams import dead_letters
from openbrain.ports.streams import BURIED, Burial
from openbrain.streams.redis.connection import ask
from openbrain.streams.redis.keys import retry_states
from openbrain.streams.redis.scripts import BURY_STUCK


async def dead_letter(client: Redis, stream: str, group: str, entry: str, why: str) -> Burial:
    """Move an entry that a group has in hand, or that is parked, to the dead letters. Raises what redis-py raises."""
    keys = (stream, retry_states(stream, group), dead_letters(stream, group))
    return Burial(await BURY_STUCK(client, keys, group, entry, BURIED, why))


async def body_of(client: Redis, stream: str, entry: str) -> bytes | None:
    """The event of an entry, for who must know which memory it is of. Raises what redis-py raises."""
    entries = await ask(client, "XRANGE", stream, entry, entry)
    return entries[0][1].get(b"__data__") if entries else None
