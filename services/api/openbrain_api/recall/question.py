"""A recall's question and its result."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from openbrain.domain.access.visibility import Criteria, Viewer
from openbrain_api.recall.comparing.similarity import Precision
from openbrain_api.recall.comparing.time_words import TimeSpan
from openbrain_api.recall.order import RankedMemory

KEYWORD_BOOST = 0.3
"""The boost of keywords when the request names none."""
LISTED_BOOST = 1.5
"""The factor of a score where one of the boost words is found (the original's form)."""


class Match(StrEnum):
    """Ways of matching: by meaning, or by names alone."""

    MEANING = "meaning"
    NAMES = "names"
    """Only that one of its names stands in the question."""


Json = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One recall, checked."""

    query: str
    top_k: int
    viewer: Viewer
    criteria: Criteria
    keywords: tuple[str, ...] = ()
    boost: float = KEYWORD_BOOST
    """Added to the score, x the share of `keywords` present."""
    boost_words: tuple[str, ...] = ()
    match: Match = Match.MEANING
    explain: bool = False
    """Whether the answer tells how each score came about."""
    text_weight: float | None = None
    """Of keywords in the fusion, 0..1; None takes the setting. At 1 or 0 the other index is not asked."""
    late_weight: float | None = None
    """Of late interaction beside the fusion, 0..1; None takes the setting, 0 leaves it out."""
    precision: Precision | None = None
    """None takes the setting."""
    min_similarity: float | None = None
    """Stands for the floors of `precision`."""
    neighbours: bool | None = None
    """Whether turns beside a turn count; None takes the setting."""
    fold: bool | None = None
    """Whether near-equal memories are folded into the first of them; None takes the setting."""
    spread: bool | None = None
    """Whether hits of few sessions make room for others; None takes the setting."""
    time_words: bool = True
    """Whether times that it names lift what happened then."""
    asked_at: int | None = None
    """Reference time of relative time words, microseconds; None: the clock."""
    as_of: int | None = None
    """Asked of that time, microseconds; None of now."""

    @property
    def reads_content(self) -> bool:
        """Whether scores depend on the rows, so that every candidate's row is needed."""
        return bool(self.boost_words or (self.keywords and self.boost))


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallResult:
    """Best first, and which indexes did not answer."""

    ranked: tuple[RankedMemory, ...]
    degraded: tuple[str, ...]
    now: int
    nothing_close: bool = False
    """Something was found, and nothing of it is near enough to be shown."""
    times: tuple[TimeSpan, ...] = ()
    """Time spans read from the question."""
    explained: Mapping[str, Json] = field(default_factory=dict)
    """By memory id, where it was asked for."""
