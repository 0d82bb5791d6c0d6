"""The transactional outbox: events committed together with the change that caused them."""

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
        """Return the oldest events, in order, live ones before those of `memory.reindex`. They stay until deleted."""

    async def delete(self, ids: Sequence[int]) -> None: ...

    async def waiting(self, limit: int) -> int:
        """Estimate the events in the outbox, counting up to `limit`; there may be fewer than returned. Cheap when there
        are few."""

    async def unpublished_since(self) -> int | None:
        """Return the time of the oldest event in the outbox; None if it is empty."""

    async def announce_again(self, ids: Sequence[str], generation: str | None = None) -> int:
        """Announce the current state of these rows at low priority, for one generation or all. Return how many
        exist."""

    async def announce(self, entries: Sequence[tuple[str, bytes]]) -> None:
        """Append finished events (stream without prefix, body) to the outbox."""
