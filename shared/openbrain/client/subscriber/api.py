"""Ports of a subscriber: the API, and optionally a stream of broadcasts."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from openbrain.domain.events.data import Broadcast
from openbrain.domain.signals.values import Halt


@dataclass(frozen=True, slots=True, kw_only=True)
class Present:
    """The state as of broadcast `seq`."""

    seq: int
    signals: tuple[Broadcast, ...]
    """The active signals, each in the form of its newest broadcast."""
    halts: tuple[Halt, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """Broadcasts in order. Up to `through` there are no others."""

    broadcasts: tuple[Broadcast, ...]
    through: int


News = Present | Missed | None
"""A message of a stream: the present state, broadcasts, or only a heartbeat."""


Entry = tuple[int, Broadcast | None]
"""The number and broadcast of an entry; None if the entry is not a broadcast: its number then counts as missing."""


class Api(Protocol):
    """Every method raises `TryLater` while the API can't be reached."""

    async def present(self, cursor: int | None) -> Present:
        """Return the present state from the database. The agent then counts as listening, with everything up to
        `cursor` handled. `cursor` None: nothing was received yet, so all open signals are returned; else perhaps only
        the most severe."""

    async def missed(self, after: int) -> Missed:
        """Return the next page of broadcasts after `after`, from the database."""

    def stream(self, after: int) -> AsyncIterator[News]:
        """Yield first the present state, perhaps slightly outdated, then broadcasts after `after`. Ends when the server
        stops."""

    async def acknowledge(self, halt_id: str) -> None:
        """Acknowledge a halt: this agent has stopped. `NotFound` or `Conflict` if the halt is over."""

    async def close(self) -> None: ...


class Stream(Protocol):
    """The workspace's broadcasts, without the API. Reading raises `TryLater` while the server can't be reached."""

    async def after(self, seq: int) -> Sequence[Entry]:
        """Return entries after `seq`; waits briefly for one, and may return none."""

    async def last(self) -> int:
        """Return the highest number that the stream has ever had; 0 if the stream is missing."""

    async def close(self) -> None: ...
