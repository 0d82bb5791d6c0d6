"""`ports.streams.StreamAdmin` on Redis: operators' view of streams. The only changes are to create and remove
groups."""

from collections.abc import Sequence

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from openbrain.domain.errors import NotFound
from openbrain.domain.events.streams import every_stream
from openbrain.ports.streams import DeadFilter, DeadLetter, Span, StreamState
from openbrain.settings import Streams
from openbrain.streams.dead_letters import listing
from openbrain.streams.monitoring import inspection
from openbrain.streams.monitoring.gauges import groups_of
from openbrain.streams.redis import scripts
from openbrain.streams.redis.connection import Connecting, ask, errors_as_try_later
from openbrain.streams.redis.keys import retry_states


class RedisStreams(Connecting):
    """`ports.streams.StreamAdmin` on Redis."""

    async def look(self, stream: str = "", outside: Sequence[tuple[str, str]] = ()) -> Sequence[StreamState]:
        known = every_stream(self._settings.bound_workspaces)
        wanted = {name: spec.groups for name, spec in known.items() if stream in ("", name)}
        with errors_as_try_later("streams can't be listed now"):
            return await inspection.look(self._client, self._settings, wanted, outside)

    async def span(self, stream: str, from_id: str, to_id: str) -> Span:
        with errors_as_try_later("entries can't be counted now"):
            return await inspection.span(self._client, self._settings.prefix + stream, from_id, to_id)

    async def dead(self, wanted: DeadFilter, limit: int, after: str = "") -> tuple[Sequence[DeadLetter], str | None]:
        with errors_as_try_later("dead letters can't be listed now"):
            return await listing.listed(self._client, listing.boxes(self._settings, wanted), wanted, limit, after)

    async def dead_letter(self, letter: str) -> DeadLetter | None:
        box = listing.box_of(letter, listing.boxes(self._settings))
        if box is None:
            return None
        with errors_as_try_later("the dead letter can't be read now"):
            return await listing.one(self._client, *box)

    async def count_dead(self, wanted: DeadFilter) -> int:
        with errors_as_try_later("dead letters can't be counted now"):
            return await listing.count(self._client, listing.boxes(self._settings, wanted), wanted)

    async def make_group(self, stream: str, group: str, *, at_end: bool) -> bool:
        full = self._settings.prefix + stream
        with errors_as_try_later("the group can't be changed now"):
            if not await self._client.exists(full):
                at_end = False
            start = await self._end(full) if at_end else ("0",)
            try:
                await ask(self._client, "XGROUP", "CREATE", full, group, *start, *(() if at_end else ("MKSTREAM",)))
            except ResponseError as error:
                if "BUSYGROUP" in str(error):
                    return False
                raise
            return True

    async def _end(self, stream: str) -> tuple[str | int, ...]:
        """Return XGROUP arguments for the stream's present end, with the number of entries added, which keeps lag
        exact."""
        about = await self._client.xinfo_stream(stream)
        return about["last-generated-id"].decode(), "ENTRIESREAD", about["entries-added"]

    async def drop_group(self, stream: str, group: str) -> int:
        full = self._settings.prefix + stream
        with errors_as_try_later("the group can't be changed now"):
            info = (await groups_of(self._client, full)).get(group)
            if info is None:
                raise NotFound("the stream has no such group")
            await ask(self._client, "XGROUP", "DESTROY", full, group)
            return int(info["pending"])


async def make_service_groups(client: Redis, settings: Streams) -> Sequence[tuple[str, str]]:
    """Create the missing groups of our services, at the first entry of their streams; return them, by stream and name.
    Raises redis-py's errors."""
    wanted = [
        (settings.prefix + name, group)
        for name, spec in every_stream(settings.bound_workspaces).items()
        for group in spec.groups
    ]
    return [pair for pair in wanted if await scripts.JOIN(client, (pair[0], retry_states(*pair)), pair[1])]
