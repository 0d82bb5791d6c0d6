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
"""Most quoted phrases in a query; further ones count as plain words."""
_QUOTED = re.compile(
    '"([^"]*)"|\u201c([^\u201d]*)\u201d|\u201e([^\u201c\u201d]*)[\u201c\u201d]|\u00ab([^\u00bb]*)\u00bb'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A validated request for one page of a search."""

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
    """A memory as in the database, its score (1 for the best of the search), and its matches."""

    memory: Memory
    score: float
    fragments: Sequence[Fragment] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """`total` and `facets` are counts by the source that answered; `next` is the cursor of the following page."""

    shown: Sequence[Shown]
    total: int
    facets: Mapping[str, Sequence[Count]]
    next: Cursor | None
    degraded: tuple[Literal["text"], ...] = ()


def parsed(text: str, *, phrases: bool, fuzzy: bool) -> TextQuery:
    """Parse any text as a query: words, and phrases between quotes. An unpaired quote is ignored."""
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
