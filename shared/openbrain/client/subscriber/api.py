"""The API, and a stream beside it, as a subscriber needs them."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from openbrain.domain.events.data import Broadcast
from openbrain.domain.signals.values import Halt


@dataclass(frozen=True, slots=True, kw_only=True)
class Present:
    """The state when broadcast `seq` was the last."""

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
"""A message of a stream: the present state, broadcasts, or only a heartbeat."""


Entry = tuple[int, Broadcast | None]
"""The number of an entry and what it says; None for what is no broadcast: its number stays missing."""


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

    async def close(self) -> None: ...


class Stream(Protocol):
    """The workspace's broadcasts by themselves. Reading raises `TryLater` while the server can't be reached."""

    async def after(self, seq: int) -> Sequence[Entry]:
        """Broadcasts behind `seq`, waiting for one a moment; may be empty."""

    async def last(self) -> int:
        """The number of the last entry that ever was; 0 where the stream is gone."""

    async def close(self) -> None: ...
