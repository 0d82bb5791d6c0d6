"""One run of a service: its connection, its consumer name and its loops, from start to stop."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import structlog
from redis.exceptions import ResponseError

from openbrain.domain.errors import TryLater, error_kind, error_text
from openbrain.domain.events.streams import replays
from openbrain.domain.tasks import all_ended, cancel
from openbrain.settings import Streams
from openbrain.streams.group.consumer_group import ConsumerGroup
from openbrain.streams.group.delivery import Entry
from openbrain.streams.group.subscription import Subscription
from openbrain.streams.handling.backoff import ErrorState
from openbrain.streams.handling.consumer import Consumer
from openbrain.streams.handling.runtime import Closing, Runtime
from openbrain.streams.reading.controls import Controls, Paused
from openbrain.streams.reading.reader import Reader, ReadingRedis
from openbrain.streams.reading.reaper import LeaseRenewal, Reaper
from openbrain.streams.redis.connection import AWAY, ask, connect_as, disconnect, words

_log = structlog.get_logger(__name__)
_SHARED_S, _SHARE_S = 1.0, 0.3


class Session:
    """Created at start; not reused after `finish`."""

    def __init__(
        self,
        group: str,
        subscriptions: Sequence[Subscription],
        settings: Streams,
        lock: asyncio.Lock,
        handler_limit_s: float,
        paused: Paused | None = None,
    ) -> None:
        self.settings = settings
        self.client = connect_as(ReadingRedis, settings)
        self.runtime = Runtime(group, settings, lock, handler_limit_s)
        self.consumers: dict[str, Consumer] = {}
        self.readers: dict[str, Reader] = {}
        self._live: list[Reader] = []
        self._replays: list[Reader] = []
        for subscription in subscriptions:
            self._add(subscription)
        self.client.listen(self.readers)
        self._controls = Controls(self.runtime, self.client, [replay.group.stream for replay in self._replays], paused)
        self._renewal = LeaseRenewal(self.runtime, list(self.consumers.values()))
        self._renewing: asyncio.Task[None] | None = None
        self._reaping: list[asyncio.Task[Any]] = []

    def _add(self, subscription: Subscription) -> None:
        stream = subscription.full_name(self.settings.prefix)
        yields = self._live_streams_busy if subscription.low_priority else _never
        # A separate lock and breaker: such a stream must not delay others.
        runtime = replace(self.runtime, lock=asyncio.Lock()) if subscription.isolated else self.runtime
        reader = self._reader(runtime, subscription, stream, yields)
        if not subscription.low_priority:
            self._live.append(reader)
        again = replays(stream, self.runtime.group)
        self._replays.append(self._reader(runtime, subscription, again, self._live_streams_busy, of=stream))

    def _reader(
        self, runtime: Runtime, subscription: Subscription, stream: str, yields: Callable[[], bool], *, of: str = ""
    ) -> Reader:
        group = ConsumerGroup(self.client, stream, runtime.group, runtime.consumer, self.settings, replays=of)
        self.consumers[stream] = consumer = Consumer(runtime, group, subscription, yields)
        self.readers[stream] = reader = Reader(runtime, consumer, self.client, yields)
        return reader

    def _live_streams_busy(self) -> bool:
        if all(reader.quiet for reader in self._live):
            return False
        # A steady flow would keep low-priority streams waiting forever: if the live streams keep up, the others get a
        # share of the time.
        their_turn = time.monotonic() % _SHARED_S < _SHARE_S
        return not (their_turn and all(reader.keeps_up or reader.quiet for reader in self._live))

    async def begin(self) -> None:
        """Wait for Redis, then start the loops in addition to reading. Raises `Closing` if the service is stopped
        first."""
        await self._wait_for_redis()
        group = self.runtime.group
        self._renewing = asyncio.create_task(self._renewal.run(), name=f"{group} renew leases")
        self._reaping = [
            asyncio.create_task(reaper.run(), name=f"{group} {reaper.loop}")
            for reaper in (Reaper(consumer.runtime, consumer, self._renewal) for consumer in self.consumers.values())
        ]
        self._reaping += [
            asyncio.create_task(reader.follow(), name=f"{group} {reader.loop}") for reader in self._replays
        ]
        self._reaping.append(asyncio.create_task(self._controls.run(), name=f"{group} {self._controls.loop}"))

    async def _wait_for_redis(self) -> None:
        runtime = self.runtime
        error_state = ErrorState(f"start {runtime.group}", self.settings.tuning.reconnect_max_s, runtime.sleep)
        while True:
            runtime.heartbeat("start")
            try:
                await ask(self.client, "PING")
            except AWAY as error:
                await error_state.record(error)
            else:
                error_state.clear()
                runtime.deadlines.pop("start")
                return

    async def take(self, stream: str, entries: Sequence[Entry]) -> None:
        """Handle a batch that FastStream read. Raises cancellation only."""
        try:
            await self.consumers[stream].process(entries, self.readers[stream].loop)
        except Closing:
            return
        except Exception as error:  # noqa: BLE001 - FastStream would swallow it silently; the entries return when their leases expire
            _log.error("streams.consumer_failed", stream=stream, error=error_kind(error), message=error_text(error))

    async def close(self) -> None:
        """Call before FastStream stops: nothing new is begun; running handlers and reads may end within
        `shutdown_s`."""
        self.runtime.closing.set()
        reads = [asyncio.create_task(reader.not_reading.wait()) for reader in self.readers.values()]
        _, late = await asyncio.wait([*self._reaping, *reads], timeout=self.settings.tuning.shutdown_s)
        await cancel(*late)

    async def finish(self) -> None:
        """Call after FastStream stopped: give back pending entries, and disconnect."""
        self.runtime.closed.set()
        await cancel(self._renewing)
        # At once: a server that does not answer is waited for once, not for each stream.
        await all_ended(_release(consumer) for consumer in self.consumers.values())
        await disconnect(self.client)

    def stuck(self) -> list[str]:
        """Return the loops that are stuck or ended."""
        tasks = [*self._reaping, *([self._renewing] if self._renewing else ())]
        ended = [] if self.runtime.closing.is_set() else [task.get_name() for task in tasks if task.done()]
        return [*self.runtime.stuck(), *ended]

    async def check_redis(self) -> None:
        """Raise `TryLater` if Redis does not answer, or if one of our reads fails."""
        try:
            await ask(self.client, "PING")
            for reader in self.readers.values():
                if reader.error_state.error is not None:
                    raise reader.error_state.error
        except ResponseError as error:
            raise TryLater(f"Redis refuses the request: {words(error)}") from error
        except AWAY as error:
            raise TryLater(f"Redis does not answer ({type(error).__name__})") from error

    async def check_failures(self) -> None:
        """Raise `MostFail` if a consumer is stopped because most entries fail."""
        for consumer in self.consumers.values():
            consumer.limit.check()


async def _release(consumer: Consumer) -> None:
    with contextlib.suppress(*AWAY):
        released = await consumer.group.release()
        consumer.count("released", released)
        if released:
            _log.info("streams.entries_released", stream=consumer.group.stream, entries=released)


def _never() -> bool:
    return False
