"""What a subscriber asks of the API, however it is reached."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from openbrain.domain.events.data import Broadcast
from openbrain.domain.signals.values import Halt


@dataclass(frozen=True, slots=True, kw_only=True)
class Present:
    """How things stand when broadcast `seq` was the last."""

    seq: int
    signals: tuple[Broadcast, ...]
    """The active ones, each as its newest broadcast would say it."""
    halts: tuple[Halt, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """Broadcasts in order, and up to which number there are no others."""

    broadcasts: tuple[Broadcast, ...]
    through: int


News = Present | Missed | None
"""What a stream says: how things stand, broadcasts, or only that it lives."""


class Api(Protocol):
    """Every method raises `TryLater` while the API can't be reached."""

    async def present(self, cursor: int | None) -> Present:
        """The present state, by the truth itself. Counts as being seen, with everything up to `cursor` handled. None:
        nothing was ever heard, so all that is open is told; else only the strongest may be."""

    async def missed(self, after: int) -> Missed:
        """The next page of broadcasts behind `after`, from the truth."""

    def stream(self, after: int) -> AsyncIterator[News]:
        """First how things stand, perhaps as it was a moment ago, then what comes behind `after`. Ends when the server
        does."""

    async def acknowledge(self, halt_id: str) -> None:
        """Say that this agent stands still. `NotFound` and `Conflict` where the halt is over."""

    async def close(self) -> None:
        """Give the connections back."""
