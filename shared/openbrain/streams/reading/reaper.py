"""The two loops in addition to reading: one renews leases, one claims parked and abandoned entries."""

import random
import time
from contextlib import suppress

import structlog

from openbrain.domain.errors import error_kind, error_text
from openbrain.streams.handling.backoff import ErrorState
from openbrain.streams.handling.consumer import Consumer
from openbrain.streams.handling.runtime import Closing, Runtime
from openbrain.streams.reading.reclaim import reclaim
from openbrain.streams.redis.connection import AWAY, is_gone

_log = structlog.get_logger(__name__)
_TIDY_S = 600


class LeaseRenewal:
    """Renews the leases of all pending entries of the service, also while it closes."""

    def __init__(self, runtime: Runtime, consumers: list[Consumer]) -> None:
        self.runtime, self.consumers = runtime, consumers
        self._period = runtime.settings.lease_s / 3
        self._renewed = time.monotonic()

    async def run(self) -> None:
        """Renew leases until the service is closed."""
        error_state = ErrorState("renew leases", self._period / 4, self.runtime.until_closed)
        pause = min(1.0, self._period)  # soon, so that a new replica is seen
        while not await self.runtime.until_closed(pause):
            self.runtime.heartbeat("renew leases", 60 + self._period)
            try:
                await self.renew()
            except AWAY as error:
                await error_state.record(error)
                pause = 0.0  # `record` has already paused
            else:
                error_state.clear()
                pause = self._period

    async def renew(self) -> None:
        """Renew now. Raises redis-py's errors."""
        for consumer in self.consumers:
            try:
                await consumer.renew()
            except AWAY as error:
                if not is_gone(error):
                    raise
        self._renewed = time.monotonic()

    @property
    def overdue(self) -> bool:
        """Whether leases may have expired, as after this process was suspended."""
        return time.monotonic() - self._renewed > self.runtime.settings.lease_s * 0.8


class Reaper:
    """Claims the due and abandoned entries of one stream, and handles them."""

    def __init__(self, runtime: Runtime, consumer: Consumer, renewal: LeaseRenewal) -> None:
        self.runtime, self.consumer, self.renewal = runtime, consumer, renewal
        self.group = consumer.group
        self.loop = f"reap {self.group.stream}"
        self._tidy_at = time.monotonic() + _TIDY_S * random.random()  # noqa: S311 - spreads the work of replicas

    async def run(self) -> None:
        """Sweep until the service closes."""
        error_state = ErrorState(self.loop, self.runtime.settings.tuning.reconnect_max_s, self.runtime.sleep)
        while True:
            self.runtime.heartbeat(self.loop)
            try:
                await self.runtime.sleep(self.runtime.settings.tuning.reap_s * random.uniform(0.75, 1.25))  # noqa: S311
                if not self.consumer.reads_nothing:
                    await self.sweep()
                error_state.clear()
            except Closing:
                return
            except AWAY as error:
                if not is_gone(error):  # reading recreates the group
                    with suppress(Closing):
                        await error_state.record(error)
            except Exception as error:  # noqa: BLE001 - this loop must outlive whatever it meets
                _log.error("streams.reaper_failed", loop=self.loop, error=error_kind(error), message=error_text(error))

    async def sweep(self) -> None:
        """Handle all entries that are due now, a batch at a time."""
        if self.renewal.overdue:
            await self.renewal.renew()
        while await self._take():
            self.runtime.heartbeat(self.loop)
        if time.monotonic() > self._tidy_at:
            self._tidy_at = time.monotonic() + _TIDY_S
            await self.group.tidy()

    async def _take(self) -> bool:
        deferred = self.consumer.deferred
        if not deferred.possible:
            await self.runtime.until_dependencies_answer()
        alone = not deferred.possible or self.runtime.breaker.wait_s() <= 0
        # While most entries fail, only probes claim one.
        capacity = 0 if self.consumer.limit.stopped else deferred.capacity(self.consumer.adaptive_batch.size)
        return bool(capacity) and await reclaim(self.consumer, capacity, self.loop, alone=alone)
