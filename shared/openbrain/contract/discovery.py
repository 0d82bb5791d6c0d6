"""Answers of searches and counts."""

from typing import Literal

from pydantic import Field

from openbrain.contract.base import Answer
from openbrain.contract.memories import MemoryAnswer

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
    """How many memories hold a value; null is for those that have none."""

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
