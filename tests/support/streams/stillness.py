"""Detects whether anything is still in transit in a pipeline."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from openbrain.ports.store.outbox import Outbox


class Stillness:
    """Polled repeatedly: is the outbox empty and every entry read and acknowledged?

    One look at many streams sees each at a different moment. An entry that causes another one on a stream already
    looked at is then missed on both. So two successive looks must find nothing, and no entry may be added in between.
    """

    def __init__(
        self,
        outbox: Outbox,
        redis: Redis,
        *,
        streams: Collection[str] = (),
        wanted: Callable[[str], bool] = lambda group: True,
    ) -> None:
        """`streams`: their keys; empty: every stream of the server. `wanted`: which groups count."""
        self._outbox, self._redis, self._streams, self._wanted = outbox, redis, streams, wanted
        self._before: Mapping[str, bytes] | None = None

    async def __call__(self) -> bool:
        last, self._before = self._before, await self._look()
        return self._before is not None and last == self._before

    async def _look(self) -> Mapping[str, bytes] | None:
        """Return the last entry of each stream; None while something is in transit."""
        if await self._outbox.take(1):
            return None
        streams = [*(self._streams or await self._all())]
        asked = self._redis.pipeline(transaction=False)
        for stream in streams:
            asked.xinfo_stream(stream)
            asked.xinfo_groups(stream)
        told: list[Any] = await asked.execute(raise_on_error=False)
        ends = {}
        for stream, about, groups in zip(streams, told[::2], told[1::2], strict=True):
            if isinstance(about, ResponseError):
                continue  # the stream does not exist
            for answer in (about, groups):
                if isinstance(answer, Exception):
                    raise answer
            ends[stream] = about["last-generated-id"]
            if any((each["pending"] or each["lag"]) and self._wanted(each["name"].decode()) for each in groups):
                return None
        return ends

    async def _all(self) -> Collection[str]:
        return {key.decode() async for key in self._redis.scan_iter(count=1000, _type="stream")}
