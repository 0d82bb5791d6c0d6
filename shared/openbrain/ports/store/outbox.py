"""Events committed with their cause, and the hint that some wait to be published."""

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
    async def take(self, limit: int) -> Sequence[OutboxEntry]:
        """The oldest, in order, but live ones before those of `memory.reindex`; they stay until deleted."""

    async def delete(self, ids: Sequence[int]) -> None: ...

    async def waiting(self, limit: int) -> int:
        """Events in the outbox, at least; below `limit` there may be fewer than it says, and more than `limit` are not
        counted. Cheap as long as there are few."""

    async def unpublished_since(self) -> int | None:
        """Give the time of the oldest event that still waits in the outbox; None for an empty one."""

    async def announce_again(self, ids: Sequence[str], generation: str | None = None) -> int:
        """Announce these rows as they stand, at low priority, for one generation or all; how many there are."""

    async def announce(self, entries: Sequence[tuple[str, bytes]]) -> None:
        """Put finished events (stream without prefix, body) into the outbox."""
