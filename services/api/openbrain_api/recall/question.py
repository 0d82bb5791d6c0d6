"""A recall's question and its result."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from openbrain.domain.access.visibility import Criteria, Viewer
from openbrain_api.recall.comparing.similarity import Precision
from openbrain_api.recall.comparing.time_words import TimeSpan
from openbrain_api.recall.order import RankedMemory

KEYWORD_BOOST = 0.3
"""The default boost of keywords."""
LISTED_BOOST = 1.5
"""The factor for a score if one of the boost words is found (the original's form)."""


class Match(StrEnum):
    """Ways of matching: by meaning, or by names alone."""

    MEANING = "meaning"
    NAMES = "names"
    """A memory matches if one of its names occurs in the question; nothing else counts."""


Json = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One validated recall."""

    query: str
    top_k: int
    viewer: Viewer
    criteria: Criteria
    keywords: tuple[str, ...] = ()
    boost: float = KEYWORD_BOOST
    """Added to the score, multiplied by the share of `keywords` present."""
    boost_words: tuple[str, ...] = ()
    match: Match = Match.MEANING
    explain: bool = False
    """Whether the answer explains each score."""
    text_weight: float | None = None
    """Weight of the text index in the fusion, 0..1; None takes the setting. At 1 or 0 the other index is not asked."""
    late_weight: float | None = None
    """Weight of late interaction against the fusion, 0..1; None takes the setting, 0 turns it off."""
    precision: Precision | None = None
    """None takes the setting."""
    min_similarity: float | None = None
    """Replaces the floors of `precision`."""
    neighbours: bool | None = None
    """Whether neighbouring turns count; None takes the setting."""
    fold: bool | None = None
    """Whether near-equal memories are folded into the first of them; None takes the setting."""
    spread: bool | None = None
    """Whether hits of few sessions give way to hits of other sessions; None takes the setting."""
    time_words: bool = True
    """Whether times named in the query raise memories of those times."""
    asked_at: int | None = None
    """Reference time of relative time words, microseconds; None: the clock."""
    as_of: int | None = None
    """Recall the state at this time, microseconds; None: the current state."""

    @property
    def reads_content(self) -> bool:
        """Whether scores depend on the rows, so that every candidate's row is needed."""
        return bool(self.boost_words or (self.keywords and self.boost))


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallResult:
    """The ranked memories, best first, and the indexes that did not answer."""

    ranked: tuple[RankedMemory, ...]
    degraded: tuple[str, ...]
    now: int
    nothing_close: bool = False
    """True if memories were found, but none is near enough to be shown."""
    times: tuple[TimeSpan, ...] = ()
    """Time spans read from the question."""
    explained: Mapping[str, Json] = field(default_factory=dict)
    """By memory id, if requested."""
