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
    """Words to look for, as they are written: any text is a query."""

    many = BrowseQuery.many | {"facets"}

    q: Annotated[Query, Field(description='Any of the words; "quoted words" must follow each other.')]
    fuzzy: Annotated[
        bool, Field(description="Words also match with a typo: one from 3 letters on, two from 6 on; not in quotes.")
    ] = False
    phrases: Annotated[bool, Field(description="false takes quotes like any other sign.")] = True
    highlights: Annotated[bool, Field(description="Show where the words stand in the content.")] = False
    facets: Annotated[
        tuple[Facet, ...],
        Field(max_length=limits.KEYWORDS, description="Count the values of these over all that match."),
    ] = ()
    limit: Annotated[int, Field(ge=1, le=limits.LIST_LIMIT)] = limits.LIST_LIMIT_DEFAULT
    cursor: Annotated[
        str | None,
        Field(max_length=CURSOR_CHARS, description="The next_cursor of the same query: what follows that page."),
    ] = None


class TagsQuery(BrowseQuery):
    """The filters and the limit of a list of tags."""

    limit: Annotated[int, Field(ge=1, le=COUNTS)] = COUNTS_DEFAULT


class ScopesQuery(BrowseQuery):
    """The filters and the limit of a list of orgs and projects."""

    limit: Annotated[int, Field(ge=1, le=SCOPES, description="Of the orgs, and of the projects of each.")] = (
        COUNTS_DEFAULT
    )


Degraded = tuple[Literal["text"], ...]
DegradedField = Field(description="Whether the text index did not answer: the newest of the database were looked at.")


class Highlight(Answer):
    """A piece of a memory's content, unchanged and unmarked: escape it as you escape the content."""

    text: str = Field(description="The content from `start` on, about 200 characters.")
    start: int = Field(description="Where it begins in the content, in code points.")
    matches: tuple[tuple[int, int], ...] = Field(
        description="Where the words stand in `text`: first code point, and the one after the last."
    )


class SearchHit(MemoryAnswer):
    """A memory; its score is 1 for the best of the whole search."""

    highlights: tuple[Highlight, ...] | None = Field(
        default=None, description="At most 3; null where none were asked for, empty where tags matched."
    )


class ValueCount(Answer):
    """The number of memories that have a value; null stands for those that have none."""

    name: str | None
    count: int


class Searched(Answer):
    """Best first."""

    hits: tuple[SearchHit, ...]
    count: int = Field(description="Of this page.")
    total: int = Field(description="All that match as the index counts them, which may be a moment behind.")
    facets: dict[str, tuple[ValueCount, ...]] = Field(description="Over all that match; at most 50 values each.")
    next_cursor: str | None = Field(default=None, description="Where to go on; null at the end.")
    degraded: Degraded = DegradedField
    took_ms: float


class TagCounts(Answer):
    """Most used first."""

    tags: tuple[ValueCount, ...]
    count: int
    more: bool = Field(description="Whether there are more than were asked for.")
    degraded: Degraded = DegradedField
    took_ms: float


class ScopeCount(Answer):
    """An org (null: of none) and its projects."""

    org: str | None
    count: int
    projects: tuple[ValueCount, ...]


class ScopeCounts(Answer):
    """Largest first."""

    scopes: tuple[ScopeCount, ...]
    count: int
    more: bool = Field(description="Whether there are more orgs, or projects of one, than were asked for.")
    degraded: Degraded = DegradedField
    took_ms: float
