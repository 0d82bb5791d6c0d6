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
from openbrain.domain.events.submission import Agent, Confidence, Keyword, Moment, Project, Query
from openbrain.domain.memory import Scope


def _boost(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("must be a number or a list of words")  # noqa: TRY004 - pydantic wants ValueError
    return listed(value)


Count = Annotated[int, Field(strict=True, ge=1, le=limits.TOP_K)]
Boost = Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)]


def _not_archived(value: object) -> object:
    if value:
        raise ValueError("no index holds what is archived: list it (include_archived), or ask as_of an earlier time")
    return False


class RecallBody(Filters):
    """A question. `agent_id` is who asks (where the key may act as that agent); who wrote it is `filter.agent_id`."""

    query: Query
    top_k: Count | None = None
    limit: Annotated[Count | None, Field(description="The same as top_k; wins over it.")] = None
    project: Annotated[
        Project | None,
        Field(description="This project, what belongs to none, and what is shared across projects."),
    ] = None
    agent_id: Agent | None = None
    keywords: Annotated[Keywords, Field(description="Words that lift a memory that holds them.")] = ()
    boost_keywords: Annotated[
        Annotated[Boost | KeywordList, Field(union_mode="left_to_right")] | None,
        BeforeValidator(_boost, json_schema_input_type=Boost | Keyword | KeywordList | None),
        Field(description="A number: what all keywords together add (0.3). A list: words that lift by half."),
    ] = None
    match: Annotated[
        Literal["meaning", "names"],
        Field(description="names: only memories of which a name stands in the question, a typo in it forgiven."),
    ] = "meaning"
    text_weight: Annotated[
        Confidence | None,
        Field(description="Of the keywords' score in the fusion: 1 keywords alone, 0 vectors alone."),
    ] = None
    late_weight: Annotated[
        Confidence | None,
        Field(description="Of the comparison word by word in context, beside the fusion; 0 leaves it out."),
    ] = None
    neighbours: Annotated[
        bool | None, Field(strict=True, description="Whether turns beside a turn in its session add to its score.")
    ] = None
    min_similarity: Annotated[
        Confidence | None,
        Field(description="Nothing of less `similarity` is shown; stands for the floors of `precision`."),
    ] = None
    precision: Annotated[
        Literal["exact", "balanced", "recall"] | None,
        Field(
            description="exact: only what is near (0.6, and 0.1 below the best at most). balanced, unless set "
            "otherwise: nothing where even the best is not (0.5 of many, less of few), and of more than five "
            "hits none below 0.65 of the best but turns of sessions. recall: whatever was found."
        ),
    ] = None
    spread: Annotated[
        bool | None,
        Field(strict=True, description="Whether turns of few sessions make room for near ones of others."),
    ] = None
    time_words: Annotated[
        bool,
        Field(
            strict=True,
            description="Whether times that the question names in English (last week, in May 2023, yesterday) lift "
            "what happened then, as seen from `asked_at`.",
        ),
    ] = True
    asked_at: Annotated[Moment | None, Field(description="When the question is asked; by default now.")] = None
    fold: Annotated[
        bool | None,
        Field(strict=True, description="Whether near-equal memories are folded into the first; false shows all."),
    ] = None
    around: Annotated[
        int,
        Field(strict=True, ge=0, le=limits.AROUND, description="So many turns before and after each hit, too."),
    ] = 0
    as_of: Annotated[
        Moment | None,
        Field(
            description="What was remembered, valid and visible at that time, as it read then; ended memories too, but "
            "none that was forgotten or erased. By words alone, from the database: slower, and exact."
        ),
    ] = None
    order: Annotated[
        Literal["relevance", "time"], Field(description="time: the same memories by when they happened, oldest first.")
    ] = "relevance"
    explain: Annotated[bool, Field(strict=True, description="Tell how each score and place came about.")] = False
    include_archived: Annotated[
        Literal[False], BeforeValidator(_not_archived), Field(description="Refused where true: no index has them.")
    ] = False
    filter: FilterBody = FilterBody()

    _empty = model_validator(mode="before")(without_empty)

    @model_validator(mode="after")
    def _past_is_searched_by_words(self) -> Self:
        if self.as_of is not None and (self.around or self.match == "names"):
            raise ValueError("as_of excludes around and match names")
        return self

    def narrowing(self) -> Criteria:
        """The filters and the nested ones, where they say nothing."""
        names = [name for name in CommonFilters.model_fields if getattr(self, name) in (None, ())]
        merged = self.model_copy(update={name: getattr(self.filter, name) for name in names})
        return merged.criteria(self.filter.agent_id, only_project=False)


class RecallBatchBody(Body):
    """Up to 50 questions; each is judged on its own."""

    queries: Annotated[
        list[Any],
        Field(min_length=1, max_length=limits.BATCH_QUESTIONS),
        judged_apart("RecallBody", limits.BATCH_QUESTIONS),
    ]

    @property
    def cost(self) -> int:
        """Two questions cost what one costs alone."""
        return (len(self.queries) + 1) // 2


class IndexShare(Answer):
    """The share of one index in a score."""

    rank: int = Field(description="Its place in that index's list, from 1.")
    score: float = Field(description="The index's own.")
    normalised: float = Field(description="0 for the worst of that list, 1 for the best.")
    weight: float


class Explanation(Answer):
    """The parts of a hit's score and rank: relevance in buckets, then scope, then effective confidence, then age."""

    text: IndexShare | None = Field(description="null: the keywords did not find it.")
    vectors: IndexShare | None
    fused: float = Field(description="Both shares, weighed and added.")
    late: IndexShare | None = Field(
        description="The comparison word by word, each in its context: weight x normalised + (1 - weight) x fused goes "
        "on. null: no token states are kept of it, and `fused` goes on."
    )
    neighbours: float = Field(
        description="What the turns beside it in its session add. All are then scaled, so that the best stays as high."
    )
    named: float = Field(default=0.0, description="What it adds that one of its names stands in the question.")
    time: float = Field(default=0.0, description="What it adds that it happened near a time that the question names.")
    project: float = Field(default=0.0, description="How far it is put back where it is not of the asked project.")
    boosted: float = Field(description="With the keywords of the request. The score of the answer is in whole buckets.")
    spread: bool = Field(
        default=False, description="Whether it is shown for its session, in the place of a better turn of another one."
    )
    bucket: int = Field(description="How many bucket widths below the best; within one, the rest decides.")
    scope: Scope
    effective_confidence: float = Field(description="Confidence, faded by the age since it was confirmed.")


class TurnBeside(Answer):
    """A turn beside a hit in its session."""

    id: str
    turn: int
    speaker: str | None
    content: str
    clipped: bool = Field(description="Whether there is more of it, behind its id.")
    occurred_at: datetime


class TimeRead(Answer):
    """Time spans read from a question."""

    words: str
    since: datetime
    until: datetime = Field(description="Not included.")


class Recalled(Answer):
    """Best first."""

    recall_id: str = Field(description="Names this answer, for feedback.")
    memories: tuple[MemoryAnswer, ...]
    scores: dict[str, float] = Field(description="In steps of a bucket's width, so that no later hit has a higher one.")
    count: int
    folded: dict[str, tuple[str, ...]] = Field(
        default_factory=dict,
        description="By the id of a memory that is shown, the ids of those left out because they say the same.",
    )
    around: dict[str, tuple[TurnBeside, ...]] | None = Field(
        default=None,
        description="By the id of a hit, the turns beside it in the order in which they were said, each once and none "
        "that is a hit: 2,000 characters of one and 20,000 in all, for the best hits first. Where it was asked for.",
    )
    nothing_close: bool = Field(
        default=False, description="Something was found, and nothing of it is near enough: nobody remembers."
    )
    took_ms: float
    degraded: tuple[Literal["vectors", "text"], ...] = Field(
        description="Indexes that did not answer; with both, the database was searched for words."
    )
    explained: dict[str, Explanation] | None = Field(default=None, description="By id, where `explain` was asked for.")
    times: tuple[TimeRead, ...] | None = Field(
        default=None, description="Times that the question names, in UTC; where `explain` was asked for."
    )


class RefusedQuestion(Answer):
    """The refusal of one question of several."""

    error: str
    message: str
    field: str | None = None


class RecalledBatch(Answer):
    """One result per question, in order. `took_ms` of each is that of all together."""

    results: tuple[Recalled | RefusedQuestion, ...]
    count: int = Field(description="How many of them were answered.")
