"""Token buckets that all replicas share, in Redis.

A process takes tokens out of the shared bucket in batches (handfuls) and hands them out locally, so most requests need
no round trip. It may spend them later: with n replicas a key can exceed its rate by n handfuls.
"""

import asyncio
import math
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any

from redis.asyncio import Redis

from openbrain.adapters.local.rates import Bucket, LocalRates
from openbrain.domain.caches import Lru
from openbrain.domain.memory import MICROSECONDS
from openbrain.domain.tasks import cancel
from openbrain.observability import metrics
from openbrain.ports.clock import Clock
from openbrain.ports.store.tenants import Allowance, Rate
from openbrain.settings import Streams
from openbrain.streams.redis.connection import AWAY, connect, disconnect
from openbrain.streams.redis.outage import Link
from openbrain.streams.redis.scripts import RATE

HANDFULS = 50
"""A handful is the burst divided by this."""
_KEPT = 10_000
_ANSWER_S = 0.25
_PAUSE_S = 1.0
"""Pause after Redis did not answer."""


@dataclass(slots=True)
class _Held:
    """This process's tokens of one holder's bucket, and the last seen state of the shared bucket."""

    rate: Rate
    seen: Bucket
    tokens: int = 0
    empty_until: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def allowance(self, cost: int, now: int, *, granted: bool) -> Allowance:
        self.seen.fill(self.rate, now)
        whole = Bucket(min(self.rate.burst, self.tokens + self.seen.tokens), now)
        return whole.allowance(self.rate, cost, granted=granted)


class RedisRates:
    """`ports.tenants.Rates` on Redis; while it is unreachable each process limits by itself."""

    def __init__(self, settings: Streams, clock: Clock, client: Redis | None = None) -> None:
        self._prefix = f"{settings.prefix}openbrain.rate."
        self._client = client or connect(settings)
        self._owned = client is None
        self._clock = clock
        self._holders: Lru[str, _Held] = Lru(_KEPT)
        self._local = LocalRates(clock)
        self._alone = False
        """True while Redis does not answer."""
        self._link = Link("rate limits")
        self._tasks: set[asyncio.Task[None]] = set()
        metrics.API_RATES_SHARED.set(1)

    async def take(self, holder: str, rate: Rate, cost: int) -> Allowance:
        cost = min(cost, rate.burst)
        now = self._clock.now()
        held = self._held(holder, rate, now)
        if self._away():
            return self._local.take_now(holder, rate, cost)
        if held.tokens < cost and now >= held.empty_until:
            async with held.lock:
                # Whoever waited for one that got no answer must not wait as long again.
                if held.tokens < cost and not self._away():
                    await self._fetch(holder, held, cost - held.tokens)
            if self._away():
                return self._local.take_now(holder, rate, cost)
        granted = held.tokens >= cost
        if granted:
            held.tokens -= cost
            if held.tokens < _handful(rate) // 2 and not held.lock.locked() and now >= held.empty_until:
                self._later(holder, held)
        return held.allowance(cost, now, granted=granted)

    def _held(self, holder: str, rate: Rate, now: int) -> _Held:
        held = self._holders.recent(holder)
        if held is None or held.rate != rate:
            held = self._holders[holder] = _Held(rate, Bucket(float(rate.burst), now))
        return held

    def _later(self, holder: str, held: _Held) -> None:
        """Fetch more tokens before they are needed."""

        async def fetch() -> None:
            async with held.lock:
                await self._fetch(holder, held, 1)

        self._begin(fetch())

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _fetch(self, holder: str, held: _Held, needed: int) -> None:
        rate, wanted = held.rate, max(needed, _handful(held.rate))
        try:
            async with asyncio.timeout(_ANSWER_S):
                given, left = await RATE(
                    self._client, [self._prefix + holder], rate.per_minute, rate.burst, needed, wanted
                )
        except (*AWAY, TimeoutError) as error:
            self._lost(error, holder, held)
            return
        self._found()
        now = self._clock.now()
        held.tokens += int(given)
        held.seen = Bucket(float(left), now)
        if not given:
            short = (needed - held.seen.tokens) * 60 / rate.per_minute
            # At most a second: another process may return tokens.
            held.empty_until = now + math.ceil(min(1.0, max(0.0, short)) * MICROSECONDS)

    def _away(self) -> bool:
        return self._alone

    def _lost(self, error: Exception, holder: str, held: _Held) -> None:
        self._link.failed(error)
        if self._alone:
            return
        self._alone = True
        metrics.API_RATES_SHARED.set(0)
        now = self._clock.now()
        for name, item in self._holders.items():
            item.seen.fill(item.rate, now)
            self._local.note(name, item.tokens + item.seen.tokens)
        self._begin(self._ask_again(holder, held))

    async def _ask_again(self, holder: str, held: _Held) -> None:
        """Retry until Redis answers, whether or not tokens are requested meanwhile."""
        while self._alone:
            await asyncio.sleep(_PAUSE_S)
            async with held.lock:
                await self._fetch(holder, held, 1)

    def _found(self) -> None:
        if self._alone:
            self._alone = False
            self._local = LocalRates(self._clock)
            metrics.API_RATES_SHARED.set(1)
            self._link.answered()

    async def close(self) -> None:
        """Cancel pending fetches, and close the client if it was created here."""
        await cancel(*self._tasks)
        self._link.leave()
        if self._owned:
            await disconnect(self._client)


def _handful(rate: Rate) -> int:
    return max(1, rate.burst // HANDFULS)
