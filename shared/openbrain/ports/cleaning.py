"""Cleaning of stored texts in every place that holds them: the part of the store for the operation `clean`. Unlike
other jobs it keeps no earlier state, and it also changes memories that have ended."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from openbrain.domain.memory import Memory
from openbrain.ports.lifecycle import Place, Selection
from openbrain.ports.store.operations import Operation
from openbrain.ports.store.writes import Bulk


class HistoryText(NamedTuple):
    """Contents of an audit line: JSON of the fields before and after, and a note."""

    id: int
    before: str | None
    after: str | None
    note: str


class MemoryTexts(NamedTuple):
    """A memory, living or ended, with its audit history."""

    memory: Memory
    history: Sequence[HistoryText] = ()


class Cleaned(NamedTuple):
    """The cleaned texts, and the findings for the report: kinds and places, never values."""

    texts: MemoryTexts
    found: Mapping[str, int]
    """Counts by place and kind, such as `content: email`."""


Clean = Callable[[MemoryTexts], Cleaned | None]
"""A pure function; returns None if there is nothing to change."""
CleanText = Callable[[str], str]
Spellings = Mapping[str, int]
"""The number of memories that use each spelling."""
ERASED = "[erased]"
"""Replaces a text that was struck out."""
OtherTextsCursor = tuple[int, tuple[Any, ...] | None]
"""The end of a page of texts."""


class Party(NamedTuple):
    """An agent or a person that texts outside memories are about. All members that are set must match."""

    agents: tuple[str, ...] = ()
    """Agents that wrote or received the text."""
    speakers: tuple[str, ...] = ()
    """People who said it."""
    says: str = ""
    """Words that the text contains, ignoring case."""


class OtherText(NamedTuple):
    what: str
    """`message`, `question` or `signal`."""
    data: Mapping[str, Any]


class Cleansing(Protocol):
    """Memories of a workspace in every state except erased."""

    async def texts(self, selection: Selection, limit: int, after: Place | None) -> Sequence[MemoryTexts]:
        """List memories, oldest first, without those under a legal hold."""

    async def clean(self, operation: Operation, selection: Selection, ids: Sequence[str], clean: Clean) -> int:
        """Clean those of `ids` that match the selection, in one transaction, and queue the purge of their old texts
        from indexes and streams. Return how many changed; 0 if the operation is no longer running."""

    async def found(self, operation_id: str) -> Mapping[str, int]:
        """Return the operation's counts so far, as in `Cleaned`."""

    async def clean_others(
        self, operation: Operation, clean: CleanText, *, dry_run: bool, party: Party | None = None
    ) -> int:
        """Clean what the workspace stores outside memories, or a party's part of it: messages, questions, reasons of
        feedback, signals. Return how many rows changed, or would change in a dry run."""

    async def count_beside(self, workspace_id: str, party: Party) -> int:
        """Count the rows outside memories that belong to a party and hold text."""

    async def page_beside(
        self, workspace_id: str, party: Party, after: OtherTextsCursor | None
    ) -> tuple[Sequence[OtherText], OtherTextsCursor | None]:
        """Return a page of the rows that `count_beside` counts, and the cursor of the next page; None at the end."""

    async def merged_beside(self, bulk: Bulk) -> Sequence[str]:
        """Return ids of the memories that are no matches themselves, and that `bulk.merged` includes."""

    async def spellings(self, workspace_id: str) -> tuple[Spellings, Spellings]:
        """Return the spellings of tags, and those of projects."""
