"""A search's question and its result."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from openbrain.contract.brain.discovery import Facet
from openbrain.domain.access.visibility import AllOf
from openbrain.domain.memory import Memory
from openbrain.ports.index import Count, TextQuery
from openbrain_api.discovery.cursors import Cursor
from openbrain_api.discovery.fragments import Fragment

FACET_VALUES = 50
PHRASES = 16
"""Quoted phrases of a query; what is quoted beyond them is words."""
_QUOTED = re.compile(
    '"([^"]*)"|\u201c([^\u201d]*)\u201d|\u201e([^\u201c\u201d]*)[\u201c\u201d]|\u00ab([^\u00bb]*)\u00bb'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """One page of a search, checked."""

    query: TextQuery
    condition: AllOf
    now: int
    limit: int
    cursor: Cursor | None = None
    facets: tuple[Facet, ...] = ()
    highlights: bool = False

    @property
    def rank(self) -> int:
        """The number of hits before this page."""
        return self.cursor.place.rank if self.cursor else 0


@dataclass(frozen=True, slots=True)
class Shown:
    """A memory as the truth has it, its score (1 for the best of the search) and where the words stand in it."""

    memory: Memory
    score: float
    fragments: Sequence[Fragment] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """`total` and `facets` are counts of who answered; `next` is where the following page begins."""

    shown: Sequence[Shown]
    total: int
    facets: Mapping[str, Sequence[Count]]
    next: Cursor | None
    degraded: tuple[Literal["text"], ...] = ()


def parsed(text: str, *, phrases: bool, fuzzy: bool) -> TextQuery:
    """Any text is a query: of words, and of what stands between quotes as phrases; a quote without its other half is no
    quote."""
    if not phrases:
        return TextQuery(words=text, fuzzy=fuzzy)
    quoted: dict[str, None] = {}

    def take(match: re.Match[str]) -> str:
        phrase = " ".join("".join(part or "" for part in match.groups()).split())
        if not phrase or phrase in quoted:
            return " "
        if len(quoted) == PHRASES:
            return f" {phrase} "
        quoted[phrase] = None
        return " "

    words = _QUOTED.sub(take, text)
    return TextQuery(words=words.strip(), phrases=tuple(quoted), fuzzy=fuzzy)
