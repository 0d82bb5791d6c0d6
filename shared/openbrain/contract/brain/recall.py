"""Recall: one question, or several at once."""

from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from openbrain.contract.base import Answer, Body, judged_apart
from openbrain.contract.brain.filters import (
    CommonFilters,
    FilterBody,
    Filters,
    KeywordList,
    Keywords,
    listed,
    without_empty,
)
from openbrain.contract.brain.memories import MemoryAnswer
from openbrain.domain import limits
from openbrain.domain.access.visibility import Criteria
from openbrain.domain.events.submission import Agent, Confidence, Moment, Project, Query, Word
from openbrain.domain.memory import Scope


def _boost(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("must be a number or a list of words")  # noqa: TRY004 - pydantic wants ValueError
    return listed(value)


Count = Annotated[int, Field(strict=True, ge=1, le=limits.TOP_K)]
Boost = Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)]


def _not_archived(value: object) -> object:
    if value:
        raise ValueError(
            "archived memories are in no index: list them (include_archived), or recall as_of an earlier time"
        )
    return False


class RecallBody(Filters):
    """A question. `agent_id` is the agent that asks (ignored unless the key's `act_as` allows it); `filter.agent_id` is
    the author."""

    query: Query
    top_k: Count | None = None
    limit: Annotated[Count | None, Field(description="Same as `top_k`, and wins over it.")] = None
    project: Annotated[
        Project | None,
        Field(description="Memories of this project, of no project, and shared across projects."),
    ] = None
    agent_id: Agent | None = None
    keywords: Annotated[Keywords, Field(description="Words that raise the score of memories that contain them.")] = ()
    boost_keywords: Annotated[
        Annotated[Boost | KeywordList, Field(union_mode="left_to_right")] | None,
        BeforeValidator(_boost, json_schema_input_type=Boost | Word | KeywordList | None),
        Field(
            description="A number: added to the score if all `keywords` match, and a part of it if some do (default "
            "0.3). A list: words of which any match raises the score by half."
        ),
    ] = None
    match: Annotated[
        Literal["meaning", "names"],
        Field(description="names: only memories that are named in the question; typos are tolerated."),
    ] = "meaning"
    text_weight: Annotated[
        Confidence | None,
        Field(description="Weight of the keyword score in the fusion: 1 keywords only, 0 vectors only."),
    ] = None
    late_weight: Annotated[
        Confidence | None,
        Field(
            description="Weight of the word-by-word comparison in context, against the fused score. It is less for "
            "memories of more than 60 content words, and if none is near. 0 turns it off."
        ),
    ] = None
    neighbours: Annotated[
        bool | None, Field(strict=True, description="Whether a turn's neighbours in its session add to its score.")
    ] = None
    min_similarity: Annotated[
        Confidence | None,
        Field(description="Minimum `similarity` of a hit; replaces the floors of `precision`."),
    ] = None
    precision: Annotated[
        Literal["exact", "balanced", "recall"] | None,
        Field(
            description="exact: only similar hits (at least 0.6, and at most 0.1 below the best). balanced (default, "
            "unless the server's settings say otherwise): no hits if even the best is not similar (0.5 among "
            "many memories, less among few); of more than five hits, none below 0.72 of the best (0.65 if "
            "longer than 300 characters) except turns of sessions. recall: whatever was found."
        ),
    ] = None
    spread: Annotated[
        bool | None,
        Field(
            strict=True, description="Whether hits from few sessions give up places to similar turns of other sessions."
        ),
    ] = None
    time_words: Annotated[
        bool,
        Field(
            strict=True,
            description="Whether times that the question names in English (last week, in May 2023, yesterday) raise "
            "the score of what happened then. Relative times count from `asked_at`.",
        ),
    ] = True
    asked_at: Annotated[Moment | None, Field(description="The time of the question; by default now.")] = None
    fold: Annotated[
        bool | None,
        Field(
            strict=True, description="Whether near-equal memories are folded into the first of them; false returns all."
        ),
    ] = None
    around: Annotated[
        int,
        Field(
            strict=True, ge=0, le=limits.AROUND, description="Also return this many turns before and after each hit."
        ),
    ] = 0
    as_of: Annotated[
        Moment | None,
        Field(
            description="Recall what was stored, valid and visible at this time, in its wording of then. Includes "
            "memories that have ended since, except forgotten and erased ones. Matches words only, in the "
            "database: slower, and exact."
        ),
    ] = None
    order: Annotated[
        Literal["relevance", "time"],
        Field(description="time: the same memories, ordered by when they happened, oldest first."),
    ] = "relevance"
    explain: Annotated[bool, Field(strict=True, description="Explain each score and rank.")] = False
    include_archived: Annotated[
        Literal[False],
        BeforeValidator(_not_archived),
        Field(description="Refused if true: archived memories are in no index."),
    ] = False
    filter: FilterBody = FilterBody()

    _empty = model_validator(mode="before")(without_empty)

    @model_validator(mode="after")
    def _past_is_searched_by_words(self) -> Self:
        if self.as_of is not None and (self.around or self.match == "names"):
            raise ValueError("as_of excludes around and match names")
        return self

    def narrowing(self) -> Criteria:
        """Return the top-level filters; a nested filter counts where the top-level one is unset."""
        names = [name for name in CommonFilters.model_fields if getattr(self, name) in (None, ())]
        merged = self.model_copy(update={name: getattr(self.filter, name) for name in names})
        return merged.criteria(self.filter.agent_id, only_project=False)


class RecallBatchBody(Body):
    """Up to 50 questions; each is answered or refused independently of the others."""

    queries: Annotated[
        list[Any],
        Field(min_length=1, max_length=limits.BATCH_QUESTIONS),
        judged_apart("RecallBody", limits.BATCH_QUESTIONS),
    ]

    @property
    def cost(self) -> int:
        """The rate-limit cost: two questions count as one."""
        return (len(self.queries) + 1) // 2


class IndexShare(Answer):
    """Contribution of one index to a score."""

    rank: int = Field(description="Rank in that index's results, from 1.")
    score: float = Field(description="The index's raw score.")
    normalised: float = Field(description="0 for the worst of that index's results, 1 for the best.")
    weight: float


class Explanation(Answer):
    """How a hit got its score and rank. Hits are ordered by relevance bucket, then scope, then effective confidence,
    then age."""

    text: IndexShare | None = Field(description="null: the keyword index did not find it.")
    vectors: IndexShare | None
    fused: float = Field(description="The weighted sum of `text` and `vectors`.")
    late: IndexShare | None = Field(
        description="The word-by-word comparison in context. The next steps continue with weight x normalised + (1 - "
        "weight) x fused; with `fused` if this is null, because no token states of the memory are stored."
    )
    neighbours: float = Field(
        description="Added by its neighbours in the session. All scores are then scaled so that the best stays the "
        "same."
    )
    named: float = Field(default=0.0, description="Added because the question contains one of its names.")
    time: float = Field(default=0.0, description="Added because it happened near a time that the question names.")
    project: float = Field(
        default=0.0, description="Negative if it is not of the requested project: subtracted from its score."
    )
    boosted: float = Field(
        description="The score with the keywords of the request. The response rounds it to whole bucket widths."
    )
    spread: bool = Field(
        default=False, description="Whether it replaces a better hit, so that more sessions are represented."
    )
    bucket: int = Field(
        description="Number of bucket widths below the best; within a bucket, the other criteria decide."
    )
    scope: Scope
    effective_confidence: float = Field(description="Confidence after decay since it was last confirmed.")


class TurnBeside(Answer):
    """A turn next to a hit in its session."""

    id: str
    turn: int
    speaker: str | None
    content: str
    clipped: bool = Field(description="Whether the content was cut: read the rest by its id.")
    occurred_at: datetime


class TimeRead(Answer):
    """A time span that a question names."""

    words: str
    since: datetime
    until: datetime = Field(description="Not included.")


class Recalled(Answer):
    """The answer to a question, best hit first."""

    recall_id: str = Field(description="Identifies this answer, for feedback.")
    memories: tuple[MemoryAnswer, ...]
    scores: dict[str, float] = Field(
        description="By memory id, in steps of a bucket width, so that no score contradicts the ranking."
    )
    count: int
    folded: dict[str, tuple[str, ...]] = Field(
        default_factory=dict,
        description="Ids of memories that were left out because they say the same, by the id of the hit that stands "
        "for them.",
    )
    around: dict[str, tuple[TurnBeside, ...]] | None = Field(
        default=None,
        description="Turns around each hit, by the hit's id, in the order they were said; each once, and none that is "
        "a hit itself. At most 2,000 characters of a turn and 20,000 in all, the best hits first. null unless "
        "requested.",
    )
    nothing_close: bool = Field(
        default=False,
        description="Whether something was found but nothing similar enough, so that no memory is returned.",
    )
    took_ms: float
    degraded: tuple[Literal["vectors", "text"], ...] = Field(
        description="Indexes that did not answer; if both, the database was searched by words."
    )
    explained: dict[str, Explanation] | None = Field(
        default=None, description="By memory id; null unless `explain` was set."
    )
    times: tuple[TimeRead, ...] | None = Field(
        default=None, description="Times that the question names, in UTC; null unless `explain` was set."
    )


class RefusedQuestion(Answer):
    """The error of one question of a batch."""

    error: str
    message: str
    field: str | None = None


class RecalledBatch(Answer):
    """One result per question, in order. Each `took_ms` is the time of the whole batch."""

    results: tuple[Recalled | RefusedQuestion, ...]
    count: int = Field(description="Questions that were answered.")
