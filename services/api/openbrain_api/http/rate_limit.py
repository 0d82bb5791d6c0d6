"""Rate limits by key, and their headers."""

import math

from openbrain.domain.errors import RateLimited
from openbrain.domain.memory import MICROSECONDS
from openbrain.ports.clock import Clock
from openbrain.ports.store.tenants import Allowance, Rate, Rates
from openbrain.settings.server import Server
from openbrain.usecases.auth import Actor

Fields = list[tuple[bytes, bytes]]


class RateLimiter:
    """Takes each request's cost from its key's bucket."""

    def __init__(self, rates: Rates, clock: Clock, settings: Server) -> None:
        self._rates = rates
        self._clock = clock
        self._default = settings.rate_per_minute
        self._burst = settings.tuning.rate_burst

    async def admit(self, actor: Actor, cost: int, headers: Fields) -> None:
        """Take the cost and set the X-RateLimit headers. Raise `RateLimited` if the bucket holds too little."""
        per_minute = self._default if actor.rate_limit is None else actor.rate_limit
        if not per_minute:
            return
        rate = Rate(per_minute, min(per_minute, self._burst))
        taken = await self._rates.take(actor.key_id, rate, cost)
        set_rate_limit(headers, per_minute, taken, self._clock.now())
        if not taken.granted:
            raise RateLimited(per_minute, taken.retry_after_s)


def set_rate_limit(headers: Fields, per_minute: int, taken: Allowance, now: int) -> None:
    """Set the X-RateLimit headers."""
    reset = math.ceil(now / MICROSECONDS + taken.full_in_s)
    headers[:] = [
        *(header for header in headers if not header[0].startswith(b"x-ratelimit-")),
        (b"x-ratelimit-limit", b"%d" % per_minute),
        (b"x-ratelimit-remaining", b"%d" % taken.remaining),
        (b"x-ratelimit-reset", b"%d" % reset),
    ]
