"""Operators' changes of streams: replay, revive, discard, bury. Every method may be repeated, and raises `TryLater`
while the server does not answer."""

from collections import defaultdict
from collections.abc import Sequence

from redis.asyncio import Redis

from openbrain.domain.events.envelope import FIELD_BYTES
from openbrain.domain.events.streams import dead_letters, every_stream
from openbrain.ports.streams import BURIED, Burial, DeadFilter, DeadLetter, HandedOver, Revival
from openbrain.settings import Streams
from openbrain.streams.dead_letters import listing, replay
from openbrain.streams.dead_letters.listing import Box
from openbrain.streams.redis.connection import ask, errors_as_try_later, server_time
from openbrain.streams.redis.keys import retry_states
from openbrain.streams.redis.scripts import BURY_STUCK

_NEWEST = 200


class Redelivery:
    """Changes streams for operators. Streams are named without the prefix."""

    def __init__(self, client: Redis, settings: Streams) -> None:
        self._client, self._settings = client, settings

    async def now(self) -> int:
        """Return milliseconds by the server's clock: entries added from now on have no smaller id."""
        with errors_as_try_later("the operation continues later"):
            return await server_time(self._client) // 1000

    async def hand_over(self, stream: str, group: str, from_id: str, to_id: str, most: int) -> HandedOver:
        """Hand entries over like `replay.hand_over`."""
        with errors_as_try_later("the replay continues later"):
            return await replay.hand_over(self._client, self._full(stream), group, from_id, to_id, most)

    async def unsettled(self, stream: str, group: str) -> int:
        """Return the number of a replay's unsettled entries; if none is left, remove the replay."""
        with errors_as_try_later("the replay continues later"):
            return await replay.drop_settled(self._client, self._full(stream), group)

    async def tidy(self) -> None:
        """Remove every settled replay, such as those of cancelled operations."""
        for name, spec in every_stream(self._settings.bound_workspaces).items():
            for group in spec.groups:
                await self.unsettled(name, group)

    async def dead(self, wanted: DeadFilter, limit: int, after: str) -> tuple[Sequence[DeadLetter], str | None]:
        """List dead letters like `ports.streams.StreamAdmin.dead`, with the entries' fields."""
        with errors_as_try_later("the work on dead letters continues later"):
            return await listing.listed(self._client, listing.boxes(self._settings, wanted), wanted, limit, after)

    async def letters(self, names: Sequence[str]) -> list[DeadLetter]:
        """Return the letters with these ids that exist."""
        letters = []
        with errors_as_try_later("the work on dead letters continues later"):
            for box, entries in self._by_box(names).items():
                letters += [await listing.one(self._client, box, entry) for entry in entries]
        return [letter for letter in letters if letter is not None]

    async def revive(self, names: Sequence[str]) -> list[Revival]:
        """Move each letter to the replay of its group; it is then no longer a dead letter. In any order."""
        done: list[Revival] = []
        with errors_as_try_later("the work on dead letters continues later"):
            for box, entries in self._by_box(names).items():
                done += await listing.revive(self._client, box, entries)
        return done

    async def discard(self, names: Sequence[str]) -> int:
        """Remove letters permanently; return how many existed."""
        with errors_as_try_later("the work on dead letters continues later"):
            return sum([await listing.discard(self._client, *item) for item in self._by_box(names).items()])

    async def bury(self, stream: str, group: str, entry: str, why: str) -> Burial:
        """Move a pending or parked entry of a group to the dead letters. Repeated, it returns the same result."""
        box, full = Box(stream, group, self._settings.prefix), self._full(stream)
        keys = (full, retry_states(full, group), dead_letters(full, group))
        with errors_as_try_later("the entry will be moved later"):
            done = Burial(await BURY_STUCK(self._client, keys, group, entry, BURIED, why))
            if done is Burial.NOT_IN_HAND and await self._lies_in(box, entry):
                return Burial.BURIED
            return done

    async def _lies_in(self, box: Box, entry: str) -> bool:
        newest = await ask(self._client, "XREVRANGE", box.key, "+", "-", "COUNT", _NEWEST)
        return any(pairs.get(b"entry") == entry.encode() for _, pairs in newest)

    async def body(self, stream: str, entry: str) -> bytes | None:
        """Return the event of an entry, for callers that need to know its memory."""
        with errors_as_try_later("the entry will be moved later"):
            entries = await ask(self._client, "XRANGE", self._full(stream), entry, entry)
        return entries[0][1].get(FIELD_BYTES) if entries else None

    def _by_box(self, names: Sequence[str]) -> dict[Box, list[str]]:
        among, by_box = listing.boxes(self._settings), defaultdict(list)
        for name in names:
            if (box := listing.box_of(name, among)) is not None:
                by_box[box[0]].append(box[1])
        return by_box

    def _full(self, stream: str) -> str:
        return self._settings.prefix + stream
