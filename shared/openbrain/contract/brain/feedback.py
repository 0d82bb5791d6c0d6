"""Verdicts on recalls."""

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
    """Ids of a recall's results. Each counts once for a recall."""

    used: Annotated[Ids, Field(description="The agent acted on them.")] = ()
    ignored: Annotated[Ids, Field(description="It saw them and had no use for them.")] = ()
    wrong: Annotated[Ids, Field(description="What they say is not so.")] = ()
    reason: Note | None = None
    session_id: Annotated[Session | None, Field(description="The session that the recall named.")] = None
    agent_id: Annotated[Agent | None, Field(description="Who asked, where the key may speak for that agent.")] = None

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
        """By memory id."""
        named = {Verdict.USED: self.used, Verdict.IGNORED: self.ignored, Verdict.WRONG: self.wrong}
        return {memory_id: verdict for verdict, ids in named.items() for memory_id in ids}


class FeedbackResult(Answer):
    """The result for one verdict."""

    memory_id: str
    verdict: Verdict
    status: Literal["counted", "repeated", "limited", "gone"] = Field(
        description="repeated: judged before for this recall, as `verdict` says; limited: noted, but confidence stays, "
        "because a bound of the day or of the scale is reached; gone: it is not there any more."
    )
    confidence: float | None = Field(description="As it is now, before it fades.")


class FeedbackGiven(Answer):
    """One result per memory, in order of their ids."""

    recall_id: str
    results: tuple[FeedbackResult, ...]
    count: int = Field(description="How many moved a confidence.")


class ReviewQuery(QueryString):
    """The filters of a review."""

    days: Annotated[int, Field(ge=1, le=3650, description="Older than so many days, and found by no recall since.")] = (
        90
    )
    org: Org | None = None
    project: Annotated[Project | None, Field(description="Exactly this project.")] = None
    limit: PageSize = limits.LIST_LIMIT_DEFAULT
    cursor: Annotated[str, Field(pattern=CURSOR)] | None = None


class Review(Answer):
    """Oldest first. Nothing is done to them: archive, forget or confirm what should be."""

    memories: tuple[MemoryAnswer, ...]
    count: int
    next_cursor: str | None = Field(default=None, description="Where to go on; null at the end.")
