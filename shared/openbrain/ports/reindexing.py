"""Rows to be written to an index again: which, how many, and from where on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from openbrain.ports.generations import IndexKind

REINDEX = "reindex"
"""Kind of the operation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """Living memories that belong into an index of this kind. '' and 0 narrow nothing down."""

    kind: IndexKind
    workspace_id: str = ""
    org: str = ""
    project: str = ""
    since: int = 0
    """Changed then or later, microseconds."""
    until: int = 0
    """Made before then, microseconds."""
    stale: bool = False
    """Only those that the index is not known to hold as they are."""


class Measured(NamedTuple):
    """What an extent holds at a moment."""

    rows: int
    until: int
    """All of them were made before this time, whatever clock told it; microseconds."""


class Listed(NamedTuple):
    """A row, as its event tells it."""

    id: str
    workspace_id: str
    version: int
    revision: int


class Reindexing(Protocol):
    """What a reindex needs of the truth."""

    async def count_extent(self, extent: Extent) -> int:
        """How many memories."""

    async def measure_extent(self, extent: Extent) -> Measured:
        """How many, and where they end: what is stored later ends behind it, or may be among them."""

    async def list_extent(self, extent: Extent, after: str, limit: int) -> Sequence[Listed]:
        """The next of them behind this one, each once; '' begins. What is new meanwhile may be among them, unless
        `until` leaves it out."""

    async def count_failed(self, extent: Extent) -> int:
        """How many of them could not be indexed as they are."""

    async def failed_of(self, kind: IndexKind, ids: Sequence[str]) -> frozenset[str]:
        """Which of these memories could not be indexed as they are."""

    async def announce(self, entries: Sequence[tuple[str, bytes]]) -> None:
        """Put finished events (stream without prefix, body) into the outbox."""
