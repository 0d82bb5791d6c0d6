"""Export and import of whole workspaces."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from openbrain.domain.access.visibility import Condition
from openbrain.domain.memory import Memory

Position = tuple[int, str]
"""created_at and id of a memory: where a page ends."""


@dataclass(frozen=True, slots=True)
class StoredMemory:
    """A row as it stands, dead or alive."""

    memory: Memory
    unique: bool = True
    """Whether it holds its duplicate key; a row that was allowed to be a duplicate, or has ended, holds none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRow:
    """A line of the audit; `before` and `after` are JSON objects as text."""

    memory_id: str
    version: int
    revision: int
    action: str
    actor: str
    at: int
    before: str | None
    after: str | None
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A child took its parent's place."""

    child_id: str
    parent_id: str
    kind: str
    created_at: int


Item = StoredMemory | HistoryRow | Link


class Landed(StrEnum):
    """The outcome for an item."""

    CREATED = "created"
    PRESENT = "present"
    MISSING_PARENT = "homeless"
    """A row that names a memory which is not here."""


class Transfer(Protocol):
    """Reading whole rows in order, and putting them into a database as they were."""

    async def kept(
        self, condition: Condition, limit: int, after: Position | None = None, *, dead: bool = False
    ) -> Sequence[StoredMemory]:
        """Oldest first; `after` lists those that follow it, `dead` also what has ended."""

    async def links(self, ids: Sequence[str]) -> Sequence[Link]:
        """To the parents of these memories."""

    async def history(
        self, ids: Sequence[str], limit: int, after: tuple[str, int] | None = None
    ) -> tuple[Sequence[HistoryRow], tuple[str, int] | None]:
        """The audit of these memories, each oldest first, by pages; and where the next page begins, None at the end."""

    async def restoring(self, workspace_id: str, export_id: str, actor: str, *, begin: bool = True) -> bool:
        """Whether this export may be put into the workspace as it was: nothing stands there, or this very export was
        begun while nothing stood there. `begin` notes that it is, also where it was given up meanwhile. `Conflict`
        where it was cancelled since."""

    async def restoring_at(self, workspace_id: str, export_id: str, stored: Mapping[str, int]) -> None:
        """Lines come: note what this sending has stored so far. `Conflict` where it was cancelled since."""

    async def restored(self, workspace_id: str, export_id: str) -> None:
        """The export is in whole."""

    async def give_up_imports(self, silent_since: int, limit: int) -> int:
        """End those of which no line came since (microseconds), as failed or as cancelled; sent again they go on unless
        they were cancelled. How many, at most `limit`."""

    async def load(
        self, workspace_id: str, items: Sequence[Item], *, dry_run: bool = False, keep_ids: bool = False
    ) -> Sequence[Landed]:
        """Put rows into the workspace as they were, in one transaction; what stands is left. What became of each.

        Beside other workspaces each id is replaced by one made of it and of the workspace (`ids.transfer_id`), wherever
        it stands in `items`: which ids stand elsewhere decides nothing, so that nobody learns it. Ids stay where there
        is no other workspace; with `keep_ids` also beside others, but for those that another one holds. Living rows are
        announced at low priority: they are not indexed yet, so their revision must be above any that an index may
        remember of them. `QuotaExceeded` where they do not fit into the workspace together: then nothing is stored.
        """

    async def duplicates(self, memories: Sequence[Memory]) -> Sequence[bool]:
        """Of each, whether a living memory says the same for the same readers."""
