"""Replay of a stream to one group, by a separate stream that its services read when no live entries are waiting.

The replayed stream and its other groups are not changed: no lag changes, no group is moved back.
"""

from redis.asyncio import Redis

from openbrain.domain.events.streams import replays
from openbrain.ports.streams import HandedOver
from openbrain.streams.redis.entry_ids import LAST
from openbrain.streams.redis.keys import retry_states
from openbrain.streams.redis.scripts import DROP_REPLAY, REPLAY

MOST = 1000
"""Entries waiting in a group's replay, at most, however slow its services are."""
AT_ONCE = 200


async def hand_over(
    client: Redis, stream: str, group: str, from_id: str, to_id: str, most: int = AT_ONCE
) -> HandedOver:
    """Copy entries of a stream (full name) into the replay of a group, as far as there is room. `from_id` may begin
    with '(' to exclude that entry. Raises redis-py's errors."""
    replay = replays(stream, group)
    keys = (stream, replay, retry_states(replay, group))
    entries, last, waiting, more = await REPLAY(client, keys, group, from_id, to_id, min(most, AT_ONCE), MOST)
    last_id = last.decode() if last else None
    return HandedOver(entries, last_id, waiting, bool(more) and last_id != LAST)


async def drop_settled(client: Redis, stream: str, group: str) -> int:
    """Remove the replay of a group (of a full stream name) if all of it is settled; return how many entries are not.
    Raises redis-py's errors."""
    replay = replays(stream, group)
    return int(await DROP_REPLAY(client, (replay, retry_states(replay, group)), group))
