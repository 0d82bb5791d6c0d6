"""Operators' changes of streams: redeliver, revive, discard, bury. Every method may be repeated, and raises `TryLater`
while the server does not answer."""

from collections import defaultdict
from collections.abc import Sequence

from redis.asyncio import Redis

from openbrain.domain.events.envelope import FIELD
from openbrain.domain.events.streams import dead_letters, every_stream
from openbrain.ports.streams import BURIED, Burial, DeadFilter, DeadLetter, HandedOver, Revival
from openbrain.settings import Streams
from openbrain.streams.dead_letters import listing, replay
from openbrain.streams.dead_letters.listing import Box
from openbrain.streams.redis.connection import ask, errors_as_try_later
from openbrain.streams.redis.keys import retry_states
from openbrain.streams.redis.scripts import BURY_STUCK

_NEWEST = 200


class Redelivery:
    """Streams are named without the prefix."""

    def __init__(self, client: Redis, settings: Streams) -> None:
        self._client, self._settings = client, settings

    async def now(self) -> int:
        """Milliseconds by the server's clock: entries added from now on have no smaller id."""
        with errors_as_try_later("the work waits for it"):
            seconds, micros = await self._client.time()
        return int(seconds) * 1000 + int(micros) // 1000

    async def hand_over(self, stream: str, group: str, from_id: str, to_id: str, most: int) -> HandedOver:
        """Hand entries over like `replay.hand_over`."""
        with errors_as_try_later("the replay waits for it"):
            return await replay.hand_over(self._client, self._full(stream), group, from_id, to_id, most)

    async def unsettled(self, stream: str, group: str) -> int:
        """The number of a replay's entries that the group has not settled; with none the replay is removed."""
        with errors_as_try_later("the replay waits for it"):
            return await replay.drop_settled(self._client, self._full(stream), group)

    async def tidy(self) -> None:
        """Remove every replay that is settled, as of operations that were cancelled."""
        for name, spec in every_stream(self._settings.bound_workspaces).items():
            for group in spec.groups:
                await self.unsettled(name, group)

    async def dead(self, wanted: DeadFilter, limit: int, after: str) -> tuple[Sequence[DeadLetter], str | None]:
        """List dead letters like `ports.streams.StreamAdmin.dead`, with the entries' fields."""
        with errors_as_try_later("the work on dead letters waits for it"):
            return await listing.listed(self._client, listing.boxes(self._settings, wanted), wanted, limit, after)

    async def letters(self, names: Sequence[str]) -> list[DeadLetter]:
        """The existing letters of these ids."""
        letters = []
        with errors_as_try_later("the work on dead letters waits for it"):
            for box, entries in self._by_box(names).items():
                letters += [await listing.one(self._client, box, entry) for entry in entries]
        return [letter for letter in letters if letter is not None]

    async def revive(self, names: Sequence[str]) -> list[Revival]:
        """Give each again to its group, after which it is a dead letter no more; in any order."""
        done: list[Revival] = []
        with errors_as_try_later("the work on dead letters waits for it"):
            for box, entries in self._by_box(names).items():
                done += await listing.revive(self._client, box, entries)
        return done

    async def discard(self, names: Sequence[str]) -> int:
        """Remove these for good; how many there were."""
        with errors_as_try_later("the work on dead letters waits for it"):
            return sum([await listing.discard(self._client, *item) for item in self._by_box(names).items()])

    async def bury(self, stream: str, group: str, entry: str, why: str) -> Burial:
        """Move an entry that a group has in hand, or that is parked, to the dead letters; again: as it was."""
        box, full = Box(stream, group, self._settings.prefix), self._full(stream)
        keys = (full, retry_states(full, group), dead_letters(full, group))
        with errors_as_try_later("the burial waits for it"):
            done = Burial(await BURY_STUCK(self._client, keys, group, entry, BURIED, why))
            if done is Burial.NOT_IN_HAND and await self._lies_in(box, entry):
                return Burial.BURIED
            return done

    async def _lies_in(self, box: Box, entry: str) -> bool:
        newest = await ask(self._client, "XREVRANGE", box.key, "+", "-", "COUNT", _NEWEST)
        return any(pairs.get(b"entry") == entry.encode() for _, pairs in newest)

    async def body(self, stream: str, entry: str) -> bytes | None:
        """The event of an entry, for who must know which memory it is of."""
        with errors_as_try_later("the burial waits for it"):
            entries = await ask(self._client, "XRANGE", self._full(stream), entry, entry)
        return entries[0][1].get(FIELD.encode()) if entries else None

    def _by_box(self, names: Sequence[str]) -> dict[Box, list[str]]:
        among, by_box = listing.boxes(self._settings), defaultdict(list)
        for name in names:
            if (box := listing.box_of(name, among)) is not None:
                by_box[box[0]].append(box[1])
        return by_box

    def _full(self, stream: str) -> str:
        return self._settings.prefix + stream
