"""What the housekeeper needs of the database: events to publish, one leader, rows past their time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class OutboxEntry:
    """A finished event, waiting to be published."""

    id: int
    stream: str
    body: bytes


class Outbox(Protocol):
    """Events committed with their cause."""

    async def take(self, limit: int) -> Sequence[OutboxEntry]:
        """The oldest, in order, but live ones before those of `memory.reindex`; they stay until deleted."""

    async def delete(self, ids: Sequence[int]) -> None:
        """They are published."""


class Backlog(Protocol):
    """How much waits to be published."""

    async def waiting(self, limit: int) -> int:
        """Events in the outbox, at least; below `limit` there may be fewer than it says, and more than `limit` are not
        counted. Cheap as long as there are few."""


class Leases(Protocol):
    """One leader at a time, by the database's word."""

    async def acquire(self, name: str, holder: str, seconds: float) -> bool:
        """Take or prolong; False while another's has not run out."""

    async def release(self, name: str, holder: str) -> None:
        """Give back at once, if it is ours."""


class Upkeep(Protocol):
    """Duties that belong to nobody's request."""

    async def time(self) -> int:
        """The database's clock, microseconds: what is ended for good must not hang on a host's clock."""

    async def expire_due(self, limit: int, now: int) -> int:
        """End memories whose time has come by `now` (reason expired), announced; returns how many."""

    async def purge_idempotency_keys(self, limit: int) -> int:
        """Remove keys past their expiry; returns how many."""
