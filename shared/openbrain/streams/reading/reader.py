"""Reads new entries for FastStream, whatever the state of Redis."""

import asyncio
import time
from collections.abc import Callable
from math import ceil
from typing import Any, cast

import structlog
from redis.asyncio import Redis

from openbrain.domain.errors import error_kind, error_text
from openbrain.streams.group.delivery import Entry
from openbrain.streams.handling.backoff import ErrorState
from openbrain.streams.handling.consumer import Consumer
from openbrain.streams.handling.runtime import Closing, Runtime
from openbrain.streams.reading.reclaim import give_back, probe
from openbrain.streams.redis.connection import AWAY, ask, is_gone

_log = structlog.get_logger(__name__)
_YIELD_S = 0.05
_LEAST_LIMIT = 200
"""Minimum limit of entries kept or given back while most fail and new ones are probed."""
_REST_S = 0.2
_STALE_S = 5.0
"""An error is forgotten after the reader has waited this long for its turn: /ready would report it until then."""
_QUIET_S, _QUIET_AFTER_FULL_S = 0.02, 0.2
"""A read that has waited this long found nothing: it would return an entry at once. After a full read, which may have
left entries, a slow machine gets more time."""

Reply = list[list[Any]]


class Reader:
    """The only loop that reads a stream. Raises nothing but cancellation: an error would end FastStream's task."""

    def __init__(self, runtime: Runtime, consumer: Consumer, client: Redis, yields: Callable[[], bool]) -> None:
        self.runtime, self.consumer, self.group = runtime, consumer, consumer.group
        self.loop = f"read {self.group.stream}"
        self.error_state = ErrorState(self.loop, runtime.settings.tuning.reconnect_max_s, runtime.sleep)
        self._client = client
        self._yields = yields
        self._since: float | None = None
        self.keeps_up = False
        """Whether the last read returned all available entries."""
        self.not_reading = asyncio.Event()
        """Set while no read is running: entries read after the consumer has left would wait for their lease to
        expire."""
        self.not_reading.set()

    @property
    def quiet(self) -> bool:
        """Whether the stream has nothing to handle: all pending entries wait for a dependency, and the read finds
        nothing."""
        consumer = self.consumer
        waiting = len(consumer.deferred.waiting) + len(consumer.limit.kept)
        idle = len(consumer.held) == waiting and not consumer.deferred.due
        found_nothing = _QUIET_S if self.keeps_up else _QUIET_AFTER_FULL_S
        return idle and self._since is not None and time.monotonic() - self._since > found_nothing

    async def join(self) -> None:
        """Create the group if that is possible now; otherwise reading does it."""
        try:
            await self.group.join()
        except AWAY as error:
            _log.info("streams.group_not_made", stream=self.group.stream, error=type(error).__name__)

    async def read(self, count: int, block_ms: int) -> Reply:
        """Return new entries of the stream, at most `count`; none after `block_ms`, an error, or a wait for a
        dependency."""
        try:
            capacity = await self._gate()
            return await self._read(min(count, capacity), self._longest_block(block_ms))
        except Closing:
            # FastStream is about to cancel this loop; until then it must not spin.
            await self.runtime.until_closed()
            return []

    async def follow(self) -> None:
        """Read and handle until the service closes: a stream that FastStream does not read."""
        block_ms = round(self.runtime.settings.tuning.poll_s * 1000)
        while True:
            try:
                capacity = await self._gate()
                for _, entries in await self._read(capacity, self._longest_block(block_ms)):
                    await self.consumer.process([Entry(item.decode(), fields) for item, fields in entries], self.loop)
            except Closing:
                return
            except Exception as error:  # noqa: BLE001 - this loop must outlive whatever it meets
                _log.error("streams.reader_failed", loop=self.loop, error=error_kind(error), message=error_text(error))

    async def _gate(self) -> int:
        """Wait until reading is allowed; return how many entries may be read."""
        runtime, consumer = self.runtime, self.consumer
        began = time.monotonic()
        while True:
            runtime.heartbeat(self.loop, 2 * runtime.settings.tuning.breaker_max_s + 60)
            if runtime.closing.is_set():
                raise Closing
            if time.monotonic() - began > _STALE_S:
                self.error_state.clear()
            if consumer.reads_nothing:
                await self._rest(_REST_S)
                continue
            if not consumer.deferred.can_continue:
                await runtime.until_dependencies_answer()
            if self._yields():
                await runtime.sleep(_YIELD_S)
                continue
            if consumer.limit.stopped:
                if await self._probes_new():
                    return 1
                continue
            await consumer.try_kept(self.loop)
            await consumer.try_deferred(self.loop)
            if capacity := consumer.deferred.capacity(consumer.adaptive_batch.size):
                return capacity
            await self._rest(max(_YIELD_S, runtime.breaker.wait_s()))

    async def _probes_new(self) -> bool:
        """While most entries fail: pause, or probe a failed entry, or return True if a new one is to be read as a
        probe."""
        consumer, limit = self.consumer, self.consumer.limit
        if limit.gives_back and limit.kept:
            await give_back(consumer, self.loop)
        if (pause := limit.wait_s()) > 0:
            await self._rest(min(pause, self.runtime.settings.tuning.breaker_max_s))
            return False
        if limit.probes_new(max(_LEAST_LIMIT, 2 * self.runtime.settings.batch)):
            return True
        if limit.kept:
            await consumer.try_kept(self.loop)
            return False
        return not await self._probes_parked()

    async def _probes_parked(self) -> bool:
        try:
            return await probe(self.consumer, self.loop)
        except AWAY as error:
            await self._recover(error)
            return True

    async def _rest(self, seconds: float) -> None:
        self._since = 0.0  # long ago: nothing can be read here, so low-priority streams may be
        await self.runtime.sleep(seconds)
        self._since = None

    def _longest_block(self, block_ms: int) -> int:
        """Return how long a read may block: deferred entries are tried as soon as allowed. Never 0, which blocks
        forever."""
        if not self.consumer.deferred.waiting:
            return block_ms
        return max(1, min(block_ms, ceil(self.runtime.breaker.wait_s() * 1000)))

    async def _read(self, count: int, block_ms: int) -> Reply:
        group = self.group
        self.runtime.heartbeat(self.loop)
        self._since = time.monotonic()
        self.not_reading.clear()
        try:
            reply = await ask(
                self._client,
                *("XREADGROUP", "GROUP", group.group, group.consumer, "COUNT", count, "BLOCK", block_ms),
                *("STREAMS", group.stream, ">"),
            )
        except AWAY as error:
            error_state = error
        else:
            self.error_state.clear()
            self.keeps_up = not reply or len(reply[0][1]) < count
            return reply or []
        finally:
            self._since = None
            self.not_reading.set()
        await self._recover(error_state)
        return []

    async def _recover(self, error: Exception) -> None:
        if is_gone(error) and self.group.is_replay:
            self.runtime.replaying.discard(self.group.stream)  # it was settled completely and removed
            return
        if is_gone(error):
            try:
                made = await self.group.join()
            except AWAY as another:
                error = another
            else:
                if made:
                    _log.warning("streams.group_remade", stream=self.group.stream, group=self.group.group)
                    return
        await self.error_state.record(error)


class ReadingRedis(Redis):
    """The client that FastStream reads with: the two calls of a subscriber go to our readers."""

    readers: dict[str, Reader]

    def listen(self, readers: dict[str, Reader]) -> None:
        """Set the readers by stream, before FastStream starts."""
        self.readers = readers
        # As received: building a dict per entry would be wasted.
        self.set_response_callback("XREADGROUP", cast("Any", lambda reply, **_: reply))

    async def ping(self, **_: Any) -> bool:
        """FastStream pings once before it reads; an error there would end its task. The health check is elsewhere."""
        return True

    async def xgroup_create(self, name: str, **_: Any) -> bool:  # type: ignore[override]
        """FastStream would create the group at `$` and lose earlier entries."""
        await self.readers[name].join()
        return True

    async def xreadgroup(  # type: ignore[override]
        self, *, streams: dict[str, str], count: int, block: int, **_: Any
    ) -> Reply:
        """FastStream would end its task on most errors, and the application on some."""
        (stream,) = streams
        return await self.readers[stream].read(count, block)
