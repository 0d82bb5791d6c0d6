"""Cleaning of stored texts in every place that holds them: the part of the store that the operation `clean` works
with. Unlike other jobs it keeps nothing of what stood before, and also works on what has ended."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from openbrain.domain.memory import Memory
from openbrain.ports.lifecycle import Place, Selection
from openbrain.ports.store.operations import Operation


class HistoryText(NamedTuple):
    """Content of an audit line: JSON of the fields before and after, and a note."""

    id: int
    before: str | None
    after: str | None
    note: str


class MemoryTexts(NamedTuple):
    """A memory, dead or alive, with all that it ever said."""

    memory: Memory
    history: Sequence[HistoryText] = ()


class Cleaned(NamedTuple):
    """The cleaned texts and the findings: for people, kinds and places and never a value."""

    texts: MemoryTexts
    found: Mapping[str, int]
    """By place and kind, as `content: email`."""


Clean = Callable[[MemoryTexts], Cleaned | None]
"""A pure function; None where nothing is to change."""
CleanText = Callable[[str], str]
Spellings = Mapping[str, int]
"""By spelling, how many memories have it."""
ERASED = "[erased]"
"""In the place of a text that was struck out."""
OtherTextsCursor = tuple[int, tuple[Any, ...] | None]
"""The end of a page of texts."""


class Party(NamedTuple):
    """An agent or person that texts beside memories are about; of several members all must hold."""

    agents: tuple[str, ...] = ()
    """Agents that wrote or received a text."""
    speakers: tuple[str, ...] = ()
    """People who said it."""
    says: str = ""
    """Words that a text contains, in upper or lower case."""


class OtherText(NamedTuple):
    what: str
    """`message`, `question` or `signal`."""
    data: Mapping[str, Any]


class Cleansing(Protocol):
    """Memories of a workspace, in every state but erased."""

    async def texts(self, selection: Selection, limit: int, after: Place | None) -> Sequence[MemoryTexts]:
        """Oldest first; what a legal hold keeps is left out."""

    async def clean(self, operation: Operation, selection: Selection, ids: Sequence[str], clean: Clean) -> int:
        """Clean those of these that are of the selection, in one transaction, with the purge of their traces; how many
        were changed. Nothing where the operation does not run any more."""

    async def found(self, operation_id: str) -> Mapping[str, int]:
        """Counts of an operation so far, as in `Cleaned`."""

    async def clean_others(
        self, operation: Operation, clean: CleanText, *, dry_run: bool, party: Party | None = None
    ) -> int:
        """Clean what the workspace keeps beside memories, or a party's part of it: messages, questions, reasons of
        feedback, signals; how many rows it is, or would be."""

    async def count_beside(self, workspace_id: str, party: Party) -> int:
        """Count the rows beside memories that belong to a party and hold text."""

    async def page_beside(
        self, workspace_id: str, party: Party, after: OtherTextsCursor | None
    ) -> tuple[Sequence[OtherText], OtherTextsCursor | None]:
        """Some of the same, and where the next follow; None at the end."""

    async def spellings(self, workspace_id: str) -> tuple[Spellings, Spellings]:
        """Of tags, and of projects."""
