"""How many requests a key may make, and how many wrong keys an address."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Rate:
    """A bucket of `burst` tokens that fills by `per_minute` a minute."""

    per_minute: int
    burst: int


@dataclass(frozen=True, slots=True)
class Allowance:
    """What became of a request for tokens."""

    granted: bool
    remaining: int
    """Tokens left. With several processes, as far as this one knows."""
    full_in_s: float
    """Seconds until the bucket is full again."""
    retry_after_s: float = 0.0
    """Where nothing was granted: when there will be enough."""


class Rates(Protocol):
    """Token buckets, one a holder. Never raises and never waits long: what counts them may be away."""

    async def take(self, holder: str, rate: Rate, cost: int) -> Allowance:
        """Take `cost` tokens (at most the burst) of this holder's bucket, or none. 0 looks at what is there."""

    async def close(self) -> None:
        """Release connections."""
