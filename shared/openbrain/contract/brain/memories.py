"""Memories: stored, listed, changed and ended."""

from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from openbrain.contract.admin.operations import OperationAnswer
from openbrain.contract.base import CURSOR, Answer, Body, TextLabels, judged_apart
from openbrain.contract.brain.filters import BrowseQuery, SessionQuery, SubjectFilters, without_nulls
from openbrain.domain import limits
from openbrain.domain.events.submission import (
    Agent,
    Aliases,
    Confidence,
    Content,
    Hours,
    IdempotencyKey,
    Metadata,
    Moment,
    NewOrg,
    NewProject,
    NewTitle,
    Note,
    Source,
    Submission,
    Tags,
)
from openbrain.domain.memory import MemoryType, Reason, Scope, State


class RememberBody(Submission, defer_build=True):
    """One memory. The agent is the key's; `agent_id` counts where the key may act as that agent."""

    _nulls = model_validator(mode="before")(without_nulls)


class BatchItemBody(RememberBody):
    """One memory of a batch, with an idempotency key of its own where it has one."""

    idempotency_key: IdempotencyKey | None = None


class BatchBody(Body):
    """Up to 500; each is judged on its own."""

    memories: Annotated[
        list[Any],
        Field(min_length=1, max_length=limits.BATCH_ITEMS),
        judged_apart("BatchItemBody", limits.BATCH_ITEMS),
    ]


class PatchBody(Body):
    """The members to change. null leaves a member as it is, but `expires_at: null` takes the expiry away."""

    content: Content | None = None
    title: Annotated[NewTitle | None, Field(description='"" takes it away.')] = None
    aliases: Aliases | None = None
    tags: Tags | None = None
    metadata: Metadata | None = None
    type: MemoryType | None = None
    confidence: Confidence | None = None
    source: Source | None = None
    org: Annotated[NewOrg | None, Field(description='Where it is filed; "" for no org.')] = None
    project: Annotated[NewProject | None, Field(description='Where it is filed; "" for no project.')] = None
    memory_scope: Annotated[Scope | None, Field(description="Who sees it.")] = None
    agent_id: Annotated[
        Agent | None,
        Field(description="Whose it is: the key must be allowed to speak for both agents."),
    ] = None
    expires_in: Annotated[Hours | None, Field(description="Hours from now.")] = None
    expires_at: Moment | None = None
    confirm: Annotated[bool, Field(strict=True, description="Still true: it fades from now on.")] = False

    @model_validator(mode="after")
    def _one_expiry(self) -> "PatchBody":
        if self.expires_in is not None and "expires_at" in self.model_fields_set:
            raise ValueError("expires_in and expires_at exclude each other")
        return self


class ForgetBody(Body):
    """Why, for the audit."""

    reason: Note | None = None


class RestoreBody(Body):
    """Why, for the audit."""

    reason: Note | None = None


class MemoryQuery(SessionQuery):
    """The detail in which a memory is shown."""

    history: Annotated[bool, Field(description="Its audit and its chain too.")] = False
    limit: Annotated[int, Field(ge=1, le=500, description="Lines of the audit of one answer.")] = 100
    cursor: Annotated[str | None, Field(pattern=r"^[0-9]{1,18}$", description="`next_cursor` of the page before.")] = (
        None
    )


class RelatedQuery(SessionQuery):
    """The limit of related memories of each kind."""

    limit: Annotated[int, Field(ge=1, le=limits.RELATED)] = limits.RELATED_DEFAULT


class ForgetQuery(SessionQuery):
    """The members of the body, for clients that send none with DELETE."""

    reason: Note | None = None


class ListQuery(BrowseQuery):
    """The filters and the page of a list of memories, newest first."""

    include_archived: Annotated[bool, Field(description="Also what was archived, which has its `reason`.")] = False
    limit: Annotated[int, Field(ge=1, le=limits.LIST_LIMIT)] = limits.LIST_LIMIT_DEFAULT
    cursor: Annotated[
        str | None, Field(pattern=CURSOR, description="The next_cursor of an answer: list what follows it.")
    ] = None


class EndQuery(ForgetQuery):
    """The way in which a memory ends."""

    erase: Annotated[
        bool, Field(description="Leave nothing of it but the proof that it was erased. Can't be undone.")
    ] = False


def _not_least(value: object) -> object:
    if value is not None:
        raise ValueError("means 'at least', so that the surest would end: give max_confidence for the least sure")
    return value


class BulkBody(SubjectFilters, extra="forbid"):
    """The memories to end: all that `GET /v1/brain/list` would list with these filters. At least one is needed, and a
    member that is not known here is refused."""

    min_confidence: Annotated[
        None, BeforeValidator(_not_least), Field(description="Refused: the surest would end. Give `max_confidence`.")
    ] = None
    reason: Note | None = None
    dry_run: Annotated[bool, Field(strict=True, description="Only tell what would end.")] = True
    erase: Annotated[bool, Field(strict=True, description="Erase them instead. Can't be undone.")] = False
    whole: Annotated[
        bool,
        Field(
            strict=True,
            description="Of every agent, and what has ended too; with `erase`, or to look. Needs an admin's key.",
        ),
    ] = False

    @model_validator(mode="after")
    def _narrowed(self) -> Self:
        names = [name for name in SubjectFilters.model_fields if name not in ("session_id", "min_confidence")]
        if all(getattr(self, name) in (None, ()) for name in names):
            raise ValueError(f"give at least one of {', '.join(names)}")
        if self.whole and not (self.erase or self.dry_run):
            raise ValueError("whole is about what has ended too, which can't be forgotten again: give erase")
        return self


class MemoryAnswer(Answer):
    """One memory. Absent names are null; times are ISO-8601 in UTC."""

    id: str
    agent_id: str | None
    type: MemoryType
    content: str
    tags: tuple[str, ...]
    org: str | None
    project: str | None
    confidence: float
    score: float | None = Field(description="Relevance in this recall, 4 decimals; null outside recall.")
    similarity: float | None = Field(
        default=None,
        description="How near it is to the question, 0..1, comparable between questions; null outside recall.",
    )
    source: str
    supersedes_id: str | None
    supersedes_count: int = Field(description="How many memories stand before it in its chain, at most 50.")
    expires_at: datetime | None
    deleted_at: datetime | None
    created_at: datetime
    updated_at: datetime
    occurred_at: datetime
    confirmed_at: datetime
    memory_scope: Scope
    session_id: str | None
    turn: int | None
    speaker: str | None
    title: str | None = Field(default=None, description="What it is called.")
    aliases: tuple[str, ...] = Field(default=(), description="Other names of it.")
    metadata: dict[str, Any]
    version: int
    state: State
    indexed: bool = Field(description="Both indexes hold this revision, so that a recall finds it.")
    reason: Reason | None = Field(description="Why it left recall.")
    index_error: str | None = Field(description="Why its current revision can't be indexed.")
    labels: TextLabels = ()


class Remembered(MemoryAnswer):
    """The memory that now stands for what was offered."""

    duplicate: bool = Field(description="The same content was there already: this is that memory.")


class BatchItem(Answer):
    """The result for one item of a batch; `error` and `message` where it was refused."""

    status: Literal["created", "duplicate", "refused"]
    id: str | None = None
    duplicate: bool = False
    indexed: bool = False
    state: State | None = None
    error: str | None = None
    message: str | None = None
    field: str | None = None
    head: str | None = None
    limit: int | None = None
    used: int | None = None


class RememberedBatch(Answer):
    """One result per item, in order."""

    results: tuple[BatchItem, ...]
    count: int = Field(description="How many of them stand in the database now.")


class Listed(Answer):
    """Newest first."""

    memories: tuple[MemoryAnswer, ...]
    count: int
    next_cursor: str | None = Field(default=None, description="Where to go on; null at the end.")


class HistoryLine(Answer):
    """One line of the audit."""

    version: int
    revision: int
    action: str
    actor: str
    at: datetime
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    reason: str


class Lineage(Answer):
    """The visible part of the chain around a memory, nearest first."""

    parents: tuple[str, ...]
    children: tuple[str, ...]


class MemoryDetail(MemoryAnswer):
    """One memory; with `?history=1` also its audit, a page at a time, and its chain."""

    history: tuple[HistoryLine, ...] | None = Field(default=None, description="Oldest first.")
    next_cursor: str | None = Field(default=None, description="Where the audit goes on; only where it does.")
    lineage: Lineage | None = None


class Related(Answer):
    """The memories that one is linked with, as far as the reader may see them; the memory itself is not among them."""

    id: str
    nearest: tuple[MemoryAnswer, ...] = Field(description="By meaning and words, each with its similarity.")
    session: tuple[MemoryAnswer, ...] = Field(description="Of the same session, those that stand nearest first.")
    named: tuple[MemoryAnswer, ...] = Field(description="With a name that it has, too.")
    chain: Lineage
    degraded: tuple[Literal["vectors", "text"], ...] = Field(description="Indexes that did not answer.")


class Forgotten(MemoryAnswer):
    """The memory as it ended."""

    forgotten: bool


class Ended(Forgotten):
    """A memory that ended; where it was erased, what is left of it, and the operation that removes its traces."""

    erased: bool
    operation_id: str | None = Field(description="Null where it was not erased, or where that is long over.")


class BulkEnded(Answer):
    """The memories that a filter matches, and the operation that ends them; none for a dry run or without a match."""

    dry_run: bool
    erase: bool
    count: int
    sample: tuple[str, ...] = Field(description="Ids of the newest of them.")
    beside: int = Field(
        0,
        description="Messages, questions, reasons of feedback, standing queries, signals and halts that it is of too: "
        "where the whole workspace is meant, and nothing but `agent_id`, `speaker` and `matching` narrows it.",
    )
    operation: OperationAnswer | None
