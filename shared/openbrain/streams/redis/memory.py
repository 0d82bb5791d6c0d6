"""Memory of the stream server."""

import asyncio

from redis.asyncio import Redis

from openbrain.domain.errors import TryLater
from openbrain.settings import Streams
from openbrain.streams.redis.connection import AWAY, Connected, ask
from openbrain.usecases.backpressure import Memory

_ANSWER_S = 1.0
_MB = 1024 * 1024


async def memory_of(client: Redis, settings: Streams) -> Memory:
    """Read the memory that the server counts against its limit. Raises redis-py's errors."""
    info = await client.info("memory")
    # Buffers for replicas and the append-only file do not count.
    used = int(info["used_memory"]) - int(info.get("mem_not_counted_for_evict", 0))
    return Memory(used, int(info.get("maxmemory", 0)) or settings.memory_mb * _MB)


class StreamMemory(Connected):
    """`backpressure.Ask`, with its own connection."""

    async def __call__(self) -> Memory:
        """Ask now; wait a second at most."""
        try:
            async with asyncio.timeout(_ANSWER_S):
                await ask(self._client, "PING")  # refused where its disk is: INFO answers all the same
                return await memory_of(self._client, self._settings)
        except (*AWAY, TimeoutError) as error:
            raise TryLater(f"Redis does not answer ({type(error).__name__})") from error
