"""Export and import of whole workspaces."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from openbrain.domain.access.visibility import Condition
from openbrain.domain.memory import Memory

Position = tuple[int, str]
"""created_at and id of a memory: the end of a page."""


@dataclass(frozen=True, slots=True)
class StoredMemory:
    """A row as stored, living or ended."""

    memory: Memory
    unique: bool = True
    """True if it owns its duplicate key. Rows allowed as duplicates and ended rows don't."""


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
    """The child replaced the parent."""

    child_id: str
    parent_id: str
    kind: str
    created_at: int


Item = StoredMemory | HistoryRow | Link


class Landed(StrEnum):
    """What happened to an item."""

    CREATED = "created"
    PRESENT = "present"
    MISSING_PARENT = "missing_parent"
    """The row refers to a memory that does not exist here."""


class Transfer(Protocol):
    """Reads full rows in order, and writes them unchanged into a database."""

    async def kept(
        self, condition: Condition, limit: int, after: Position | None = None, *, dead: bool = False
    ) -> Sequence[StoredMemory]:
        """List rows, oldest first. `after`: cursor of the previous page. `dead`: include ended ones."""

    async def links(self, ids: Sequence[str]) -> Sequence[Link]:
        """Return the links of these memories to their parents."""

    async def history(
        self, ids: Sequence[str], limit: int, after: tuple[str, int] | None = None
    ) -> tuple[Sequence[HistoryRow], tuple[str, int] | None]:
        """Return a page of the audit of these memories, oldest first for each, and the cursor of the next page; None at
        the end."""

    async def restoring(self, workspace_id: str, export_id: str, actor: str, *, begin: bool = True) -> bool:
        """True if this export may be restored unchanged into the workspace: the workspace is empty, or it was empty
        when this export was begun. `begin` records the start, even if the import was given up meanwhile. Raise
        `Conflict` if it was cancelled since."""

    async def restoring_at(self, workspace_id: str, export_id: str, stored: Mapping[str, int]) -> None:
        """Record what this import has stored so far. Raise `Conflict` if it was cancelled since."""

    async def restored(self, workspace_id: str, export_id: str) -> None:
        """Record that the import is complete."""

    async def give_up_imports(self, silent_since: int, limit: int) -> int:
        """End imports that received no line since `silent_since` (microseconds), as failed or cancelled. Sending again
        resumes them unless they were cancelled. Return how many, at most `limit`."""

    async def load(
        self, workspace_id: str, items: Sequence[Item], *, dry_run: bool = False, keep_ids: bool = False
    ) -> Sequence[Landed]:
        """Write rows into the workspace unchanged, in one transaction; existing rows are kept. Return what happened to
        each.

        If there are other workspaces, each id is replaced by one derived from it and the workspace (`ids.transfer_id`),
        everywhere in `items`. This does not depend on which ids exist elsewhere, so nobody can probe for them. Ids are
        kept if there is no other workspace, and with `keep_ids` unless another workspace owns the id. Living rows are
        announced at low priority. They are not indexed yet, so their revision must be above any that an index may
        remember of them. Raise `QuotaExceeded`, and store nothing, if they do not all fit into the workspace.
        """

    async def duplicates(self, memories: Sequence[Memory]) -> Sequence[bool]:
        """For each memory, tell whether a living memory has the same content for the same readers."""
