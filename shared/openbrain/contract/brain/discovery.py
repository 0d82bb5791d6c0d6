"""Searches and counts."""

from typing import Annotated, Literal

from pydantic import Field

from openbrain.contract.base import Answer
from openbrain.contract.brain.filters import BrowseQuery
from openbrain.contract.brain.memories import MemoryAnswer
from openbrain.domain import limits
from openbrain.domain.events.submission import Query

Facet = Literal["type", "tags", "org", "project", "agent_id", "source"]
CURSOR_CHARS = 400
COUNTS = 1000
COUNTS_DEFAULT = 100
SCOPES = 200


class SearchQuery(BrowseQuery):
    """A full-text search. Any text is a valid query."""

    many = BrowseQuery.many | {"facets"}

    q: Annotated[Query, Field(description='Matches any of the words; "quoted words" must follow each other.')]
    fuzzy: Annotated[
        bool, Field(description="Also match words with typos: one from 3 letters on, two from 6 on; not inside quotes.")
    ] = False
    phrases: Annotated[bool, Field(description="false: quotes have no special meaning.")] = True
    highlights: Annotated[bool, Field(description="Return where the words occur in the content.")] = False
    facets: Annotated[
        tuple[Facet, ...],
        Field(max_length=limits.KEYWORDS, description="Count the values of these fields over all matches."),
    ] = ()
    limit: Annotated[int, Field(ge=1, le=limits.LIST_LIMIT)] = limits.LIST_LIMIT_DEFAULT
    cursor: Annotated[
        str | None,
        Field(max_length=CURSOR_CHARS, description="The `next_cursor` of the same query: returns the next page."),
    ] = None


class TagsQuery(BrowseQuery):
    """The filters and the limit of a list of tags."""

    limit: Annotated[int, Field(ge=1, le=COUNTS)] = COUNTS_DEFAULT


class ScopesQuery(BrowseQuery):
    """The filters and the limit of a list of orgs and projects."""

    limit: Annotated[int, Field(ge=1, le=SCOPES, description="Orgs at most, and projects of each org at most.")] = (
        COUNTS_DEFAULT
    )


Degraded = tuple[Literal["text"], ...]
DegradedField = Field(
    description="Contains `text` if the text index did not answer; then only the newest memories in the database were "
    "searched."
)


class Highlight(Answer):
    """An excerpt of a memory's content, verbatim and without markup: escape it like the content itself."""

    text: str = Field(description="About 200 characters of the content, from `start` on.")
    start: int = Field(description="Offset of the excerpt in the content, in code points.")
    matches: tuple[tuple[int, int], ...] = Field(
        description="Positions of the matched words in `text`, in code points: start, and end (exclusive)."
    )


class SearchHit(MemoryAnswer):
    """A memory; the best hit of the whole search has the score 1."""

    highlights: tuple[Highlight, ...] | None = Field(
        default=None, description="At most 3; null if not requested, empty if only tags matched."
    )


class ValueCount(Answer):
    """The number of memories that have a value; a null `name` counts those without one."""

    name: str | None
    count: int


class Searched(Answer):
    """A page of search hits, best first."""

    hits: tuple[SearchHit, ...]
    count: int = Field(description="Hits on this page.")
    total: int = Field(description="All matches, as counted by the index, which may lag slightly.")
    facets: dict[str, tuple[ValueCount, ...]] = Field(
        description="Counts over all matches; at most 50 values for each facet."
    )
    next_cursor: str | None = Field(default=None, description="Cursor of the next page; null on the last one.")
    degraded: Degraded = DegradedField
    took_ms: float


class TagCounts(Answer):
    """Tags with their counts, most used first."""

    tags: tuple[ValueCount, ...]
    count: int
    more: bool = Field(description="Whether more tags exist than `limit`.")
    degraded: Degraded = DegradedField
    took_ms: float


class ScopeCount(Answer):
    """An org and its projects; a null `org` counts memories without one."""

    org: str | None
    count: int
    projects: tuple[ValueCount, ...]


class ScopeCounts(Answer):
    """Orgs and their projects, largest first."""

    scopes: tuple[ScopeCount, ...]
    count: int
    more: bool = Field(description="Whether more orgs, or more projects of one org, exist than `limit`.")
    degraded: Degraded = DegradedField
    took_ms: float
