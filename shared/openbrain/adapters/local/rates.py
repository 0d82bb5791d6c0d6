"""Token buckets of one process."""

from dataclasses import dataclass

from openbrain.domain.caches import Lru
from openbrain.domain.memory import MICROSECONDS
from openbrain.ports.clock import Clock
from openbrain.ports.store.tenants import Allowance, Rate

_KEPT = 10_000


@dataclass(slots=True)
class Bucket:
    """The number of tokens at a time (microseconds)."""

    tokens: float
    at: int

    def fill(self, rate: Rate, now: int) -> None:
        """Add the tokens since the last call; a clock that was set back adds none."""
        passed = max(0, now - self.at) / MICROSECONDS
        self.tokens = min(float(rate.burst), self.tokens + passed * rate.per_minute / 60)
        self.at = now

    def allowance(self, rate: Rate, cost: int, *, granted: bool) -> Allowance:
        """Return the state of the bucket as its holder sees it."""
        per_second = rate.per_minute / 60
        wait = 0.0 if granted else max(0.0, cost - self.tokens) / per_second
        return Allowance(granted, int(self.tokens), max(0.0, rate.burst - self.tokens) / per_second, wait)


class LocalRates:
    """`ports.tenants.Rates` in memory: for a single process, and as the fallback while the shared store is
    unreachable."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._buckets: Lru[str, Bucket] = Lru(_KEPT)

    async def take(self, holder: str, rate: Rate, cost: int) -> Allowance:
        return self.take_now(holder, rate, cost)

    def take_now(self, holder: str, rate: Rate, cost: int) -> Allowance:
        """Take from the holder's allowance without waiting."""
        now = self._clock.now()
        bucket = self._buckets.recent(holder)
        if bucket is None:
            bucket = self._buckets[holder] = Bucket(float(rate.burst), now)
        bucket.fill(rate, now)
        cost = min(cost, rate.burst)
        granted = bucket.tokens >= cost
        if granted:
            bucket.tokens -= cost
        return bucket.allowance(rate, cost, granted=granted)

    def note(self, holder: str, tokens: float) -> None:
        """Replace the holder's bucket with a state from elsewhere."""
        self._buckets[holder] = Bucket(tokens, self._clock.now())

    async def close(self) -> None:
        """Do nothing: there is nothing to close."""
