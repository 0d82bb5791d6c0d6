"""What an index is compared with: the truth's own account of what each row should have there."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from openbrain.ports.generations import Generation, IndexKind
from openbrain.ports.index import Sum

VERIFY = "verify"
"""Kind of the operation that compares every index with the truth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A row as one generation of an index should have it."""

    memory_id: str
    revision: int
    updated_at: int
    content_hash: str
    changed_at: int
    """When it last changed, left or fell due."""
    passages: int
    """Entries that it should have: 0 where it has ended, wants none, or its vectors are not there yet."""
    high: int
    """Entries that it ever had, as far as the truth knows."""
    living: bool
    """Whether entries are wanted at all."""
    waiting: bool
    """Its vectors are not there yet for this revision."""
    failed: bool
    """It can't be indexed at this revision: it is left alone until it changes or is replayed."""
    marked: bool
    """Noted as done by the indexer; always so for a generation that does not serve."""


class Reconciling(Protocol):
    """The truth beside an index. Rows are walked through in the order of their ids, some at a time."""

    async def walk(self, after: str, limit: int) -> str | None:
        """The id that ends the next `limit` rows behind `after`; None where no row follows."""

    async def due_sums(self, generation: Generation, after: str, until: str) -> Mapping[int, Sum]:
        """What the rows behind `after`, up to `until`, should have in each bucket; no tombstones, no revisions."""

    async def due_marks(self, generation: Generation, after: str, until: str) -> Sequence[int]:
        """The same one by one: of each entry that they should have `ids.mark`."""

    async def due_in(self, generation: Generation, after: str, until: str, buckets: Collection[int]) -> Sequence[Due]:
        """Those of these rows in these buckets that should have entries, or that are not marked."""

    async def unmarked(self, generation: Generation, after: str, until: str, limit: int) -> Sequence[Due]:
        """The first of these rows that are not marked, for a generation that serves; failed ones are left out."""

    async def due(self, generation: Generation, ids: Collection[str]) -> Mapping[str, Due]:
        """These rows; ids without a row are absent."""

    async def any_marked(self, kind: IndexKind) -> bool:
        """Whether an index of this kind was ever noted as holding a living memory."""

    async def forget_marks(self, kind: IndexKind, after: str, until: str) -> int:
        """Take back what was noted of the living among these rows: the index that they stood in is gone. How many."""

    async def unpublished_since(self) -> int | None:
        """When the oldest event was made that still waits in the outbox; None for an empty one."""

    async def announce_again(self, ids: Sequence[str], generation: str | None = None) -> int:
        """Announce these rows as they stand, at low priority, for one generation or all; how many there are."""

    async def lift(self, seen: Mapping[str, int]) -> int:
        """Raise the revision of each row that is not above what was seen of it, and announce it; how many."""

    async def lift_all(self, seen: int, after: str, until: str) -> int:
        """Raise the revision of all these rows that are not above `seen`, unannounced; how many."""
