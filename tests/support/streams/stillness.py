"""Whether anything is still on its way through a pipeline."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from redis.asyncio import Redis

from openbrain.ports.keeping import Outbox


class Stillness:
    """Asked again and again: nothing in the outbox, no entry unread or unacknowledged.

    One look at many streams sees each at another moment, and what passes meanwhile from one that comes later to one
    that came before is seen in neither. So it takes two looks that find nothing, and no entry added in between.
    """

    def __init__(
        self,
        outbox: Outbox,
        redis: Redis,
        *,
        streams: Collection[str] = (),
        wanted: Callable[[str], bool] = lambda group: True,
    ) -> None:
        """`streams`: their keys; every stream of the server where none is named. `wanted`: which groups count."""
        self._outbox, self._redis, self._streams, self._wanted = outbox, redis, streams, wanted
        self._before: Mapping[str, bytes] | None = None

    async def __call__(self) -> bool:
        last, self._before = self._before, await self._look()
        return self._before is not None and last == self._before

    async def _look(self) -> Mapping[str, bytes] | None:
        """The last entry of each stream; None while something is seen to be on its way."""
        if await self._outbox.take(1):
            return None
        ends = {}
        for stream in self._streams or await self._all():
            if not await self._redis.exists(stream):
                continue
            about: Any = await self._redis.xinfo_stream(stream)
            ends[stream] = about["last-generated-id"]
            groups: Any = await self._redis.xinfo_groups(stream)
            if any((each["pending"] or each["lag"]) and self._wanted(each["name"].decode()) for each in groups):
                return None
        return ends

    async def _all(self) -> Collection[str]:
        keys: Any = await self._redis.keys("*")
        return [key.decode() for key in keys if await self._redis.type(key) == b"stream"]
