"""Feedback on recalls."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from openbrain.contract.base import CURSOR, Answer, Body, PageSize, QueryString
from openbrain.contract.brain.memories import MemoryAnswer
from openbrain.domain import limits
from openbrain.domain.events.data import MemoryId
from openbrain.domain.events.submission import Agent, Note, Org, Project, Session
from openbrain.domain.memory import Verdict

Ids = Annotated[tuple[MemoryId, ...], Field(max_length=limits.TOP_K)]


class FeedbackBody(Body):
    """Verdicts on the results of a recall, by memory id. Each result can be judged once per recall."""

    used: Annotated[Ids, Field(description="The agent acted on these.")] = ()
    ignored: Annotated[Ids, Field(description="The agent saw these and had no use for them.")] = ()
    wrong: Annotated[Ids, Field(description="What these say is not true.")] = ()
    reason: Note | None = None
    session_id: Annotated[Session | None, Field(description="The session that was named in the recall.")] = None
    agent_id: Annotated[
        Agent | None,
        Field(description="The agent that made the recall; ignored unless the key's `act_as` allows it."),
    ] = None

    @model_validator(mode="after")
    def _once_each(self) -> Self:
        ids = [*self.used, *self.ignored, *self.wrong]
        if not ids:
            raise ValueError("name results in used, ignored or wrong")
        if len(set(ids)) < len(ids):
            raise ValueError("name each result once")
        return self

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """The verdicts by memory id."""
        named = {Verdict.USED: self.used, Verdict.IGNORED: self.ignored, Verdict.WRONG: self.wrong}
        return {memory_id: verdict for verdict, ids in named.items() for memory_id in ids}


class FeedbackResult(Answer):
    """The result for one verdict."""

    memory_id: str
    verdict: Verdict
    status: Literal["counted", "repeated", "limited", "gone"] = Field(
        description="repeated: already judged for this recall, with the `verdict` returned here; limited: stored, but "
        "the confidence did not change because a daily limit or the end of the scale was reached; gone: the "
        "memory has ended or is no longer visible."
    )
    confidence: float | None = Field(description="The stored confidence now, before decay.")


class FeedbackGiven(Answer):
    """One result per memory, in order of their ids."""

    recall_id: str
    results: tuple[FeedbackResult, ...]
    count: int = Field(description="Verdicts that changed a confidence.")


class ReviewQuery(QueryString):
    """The filters of a review."""

    days: Annotated[
        int,
        Field(
            ge=1,
            le=3650,
            description="Only memories older than this and not found by a recall for as long.",
        ),
    ] = 90
    org: Org | None = None
    project: Annotated[Project | None, Field(description="Exactly this project.")] = None
    limit: PageSize = limits.LIST_LIMIT_DEFAULT
    cursor: Annotated[str, Field(pattern=CURSOR)] | None = None


class Review(Answer):
    """Memories to review, oldest first. Nothing happens to them by itself: archive, forget or confirm them as
    needed."""

    memories: tuple[MemoryAnswer, ...]
    count: int
    next_cursor: str | None = Field(default=None, description="Cursor of the next page; null on the last one.")
