"""Memories: stored, listed, changed and ended."""

from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from openbrain.contract.admin.operations import OperationAnswer
from openbrain.contract.base import CURSOR, Answer, Body, TextLabels, judged_apart
from openbrain.contract.brain.filters import (
    Agents,
    AnyTags,
    BrowseQuery,
    Scopes,
    SessionQuery,
    Sources,
    Speakers,
    SubjectFilters,
    Types,
    without_nulls,
)
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
    """One memory. Its agent is the key's, or `agent_id` if the key's `act_as` allows it."""

    _nulls = model_validator(mode="before")(without_nulls)


class BatchItemBody(RememberBody):
    """One memory of a batch, with an optional idempotency key of its own."""

    idempotency_key: IdempotencyKey | None = None


class BatchBody(Body):
    """Up to 500 memories; each is stored or refused independently of the others."""

    memories: Annotated[
        list[Any],
        Field(min_length=1, max_length=limits.BATCH_ITEMS),
        judged_apart("BatchItemBody", limits.BATCH_ITEMS),
    ]


class PatchBody(Body):
    """The members to change. null leaves a member unchanged, but `expires_at: null` removes the expiry."""

    content: Content | None = None
    title: Annotated[NewTitle | None, Field(description='"" removes it.')] = None
    aliases: Aliases | None = None
    tags: Tags | None = None
    metadata: Metadata | None = None
    type: MemoryType | None = None
    confidence: Confidence | None = None
    source: Source | None = None
    org: Annotated[NewOrg | None, Field(description='The new org; "" for none.')] = None
    project: Annotated[NewProject | None, Field(description='The new project; "" for none.')] = None
    memory_scope: Annotated[Scope | None, Field(description="Who can read it.")] = None
    agent_id: Annotated[
        Agent | None,
        Field(description="Its new agent: the key must be allowed to act as the old and the new one."),
    ] = None
    expires_in: Annotated[Hours | None, Field(description="Hours from now.")] = None
    expires_at: Moment | None = None
    confirm: Annotated[
        bool, Field(strict=True, description="Confirm that it is still true: its confidence decays from now on.")
    ] = False

    @model_validator(mode="after")
    def _one_expiry(self) -> "PatchBody":
        if self.expires_in is not None and "expires_at" in self.model_fields_set:
            raise ValueError("expires_in and expires_at exclude each other")
        return self


class ForgetBody(Body):
    """The reason, for the audit."""

    reason: Note | None = None


class RestoreBody(Body):
    """The reason, for the audit."""

    reason: Note | None = None


class MemoryQuery(SessionQuery):
    """How much of a memory is returned."""

    history: Annotated[bool, Field(description="Also return its audit and its supersede chain.")] = False
    limit: Annotated[int, Field(ge=1, le=500, description="Audit entries on a page.")] = 100
    cursor: Annotated[
        str | None, Field(pattern=r"^[0-9]{1,18}$", description="The `next_cursor` of the previous page.")
    ] = None


class RelatedQuery(SessionQuery):
    """The maximum number of related memories of each kind."""

    limit: Annotated[int, Field(ge=1, le=limits.RELATED)] = limits.RELATED_DEFAULT


class ForgetQuery(SessionQuery):
    """The members of the body as parameters, for clients that send no body with DELETE."""

    reason: Note | None = None


class ListQuery(BrowseQuery):
    """The filters and the page of a list of memories, newest first."""

    include_archived: Annotated[
        bool, Field(description="Also list archived memories; their `reason` is `archived`.")
    ] = False
    limit: Annotated[int, Field(ge=1, le=limits.LIST_LIMIT)] = limits.LIST_LIMIT_DEFAULT
    cursor: Annotated[str | None, Field(pattern=CURSOR, description="The `next_cursor` of the previous page.")] = None


class EndQuery(ForgetQuery, extra="forbid"):
    """How a memory ends."""

    erase: Annotated[bool, Field(description="Erase it: only the proof of the erasure remains. Can't be undone.")] = (
        False
    )


def _not_least(value: object) -> object:
    if value is not None:
        raise ValueError("means 'at least', so the most confident memories would end: use max_confidence instead")
    return value


def _some(values: tuple[str, ...]) -> tuple[str, ...]:
    if not values:
        raise ValueError("must not be empty: leave it out for all")
    return values


Some = AfterValidator(_some)
"""A list that turned out empty would select all, so it is refused where the selected memories end."""


class BulkBody(SubjectFilters, extra="forbid"):
    """The memories to end: all that `GET /v1/brain/list` lists with these filters. At least one filter is needed;
    unknown members are refused."""

    selecting = frozenset(SubjectFilters.model_fields)

    type: Annotated[Types, Some] = ()
    source: Annotated[Sources, Some] = ()
    tags: Annotated[AnyTags, Some, Field(description="Memories with at least one of these.")] = ()
    agent_id: Annotated[Agents, Some, Field(description="The author.")] = ()
    speaker: Annotated[Speakers, Some, Field(description="The speaker.")] = ()
    include_scopes: Annotated[Scopes, Some] = ()
    min_confidence: Annotated[
        None,
        BeforeValidator(_not_least),
        Field(description="Refused, because the most confident memories would end: use `max_confidence`."),
    ] = None
    reason: Note | None = None
    dry_run: Annotated[bool, Field(strict=True, description="Only report what would end.")] = True
    erase: Annotated[bool, Field(strict=True, description="Erase the memories. Can't be undone.")] = False
    merged: Annotated[
        bool,
        Field(
            strict=True,
            description="Erase also the memories that dedupe or consolidate merged these into; only with `erase`.",
        ),
    ] = False
    whole: Annotated[
        bool,
        Field(
            strict=True,
            description="Include memories of every agent, and memories that have ended. Only with `erase` or "
            "`dry_run`; needs an admin key.",
        ),
    ] = False

    @model_validator(mode="after")
    def _narrowed(self) -> Self:
        names = [name for name in SubjectFilters.model_fields if name not in ("session_id", "min_confidence")]
        if all(getattr(self, name) in (None, ()) for name in names):
            raise ValueError(f"give at least one of {', '.join(names)}")
        if self.whole and not (self.erase or self.dry_run):
            raise ValueError("whole includes memories that have ended, which can't be forgotten again: set erase")
        if self.merged and not self.erase:
            raise ValueError("merged includes memories that are erased with those that match: set erase")
        return self


class MemoryAnswer(Answer):
    """One memory. Unset members are null; times are ISO-8601 in UTC."""

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
        description="Similarity to the question, 0..1, comparable between questions; null outside recall.",
    )
    source: str
    supersedes_id: str | None
    supersedes_count: int = Field(description="Number of memories before it in its supersede chain, counted up to 50.")
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
    title: str | None = Field(default=None, description="Its name.")
    aliases: tuple[str, ...] = Field(default=(), description="Its other names.")
    metadata: dict[str, Any]
    version: int
    state: State
    indexed: bool = Field(description="Whether both indexes contain its current revision, so that recall finds it.")
    reason: Reason | None = Field(description="Why it is no longer recalled.")
    index_error: str | None = Field(description="Why its current revision can't be indexed.")
    labels: TextLabels = ()


class Remembered(MemoryAnswer):
    """The stored memory, or the existing one if the same content was already stored."""

    duplicate: bool = Field(
        description="Whether the same content was already stored: then this is the existing memory."
    )


class BatchItem(Answer):
    """The result for one item of a batch, with `error` and `message` if it was refused."""

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
    count: int = Field(description="Number of items that are now in the database.")


class Listed(Answer):
    """A page of memories, newest first."""

    memories: tuple[MemoryAnswer, ...]
    count: int
    next_cursor: str | None = Field(default=None, description="Cursor of the next page; null on the last one.")


class HistoryLine(Answer):
    """One entry of the audit."""

    version: int
    revision: int
    action: str
    actor: str
    at: datetime
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    reason: str


class Lineage(Answer):
    """The visible part of a memory's supersede chain, nearest first."""

    parents: tuple[str, ...]
    children: tuple[str, ...]


class MemoryDetail(MemoryAnswer):
    """One memory; with `?history=1` also a page of its audit, and its supersede chain."""

    history: tuple[HistoryLine, ...] | None = Field(default=None, description="Oldest first.")
    next_cursor: str | None = Field(
        default=None, description="Cursor of the next page of the audit; null on the last one."
    )
    lineage: Lineage | None = None


class Related(Answer):
    """The memories that are related to one memory and visible to the reader, without that memory itself."""

    id: str
    nearest: tuple[MemoryAnswer, ...] = Field(
        description="The most similar by meaning and words, each with its similarity."
    )
    session: tuple[MemoryAnswer, ...] = Field(description="Of the same session, the nearest turns first.")
    named: tuple[MemoryAnswer, ...] = Field(description="Those that share a name with it.")
    chain: Lineage
    degraded: tuple[Literal["vectors", "text"], ...] = Field(description="Indexes that did not answer.")


class Forgotten(MemoryAnswer):
    """The memory after it was forgotten."""

    forgotten: bool


class Ended(Forgotten):
    """A memory that was forgotten or erased. If erased: what is left of it, and the operation that removes its
    traces."""

    erased: bool
    operation_id: str | None = Field(description="null if it was not erased, or if the operation is no longer kept.")
    merged: tuple[str, ...] = Field(
        (),
        description="If erased: ids of memories that may hold its words, because dedupe or consolidate merged it into "
        "them. Erase them too if these words must go.",
    )


class BulkEnded(Answer):
    """The memories that the filters match, and the operation that ends them; null for a dry run or without a match."""

    dry_run: bool
    erase: bool
    count: int = Field(description="Number of matches, without those under a legal hold.")
    held: int = Field(0, description="Number of matches that a legal hold keeps: they stay as they are.")
    sample: tuple[str, ...] = Field(description="Ids of the newest matches.")
    beside: int = Field(
        0,
        description="Number of messages, questions, feedback reasons, standing queries, signals and halts that match "
        "as well. Counted only with `whole` and no filters but `agent_id`, `speaker` and `matching`; else 0.",
    )
    merged: int = Field(
        0,
        description="For an erasure: number of memories that do not match, but may hold words of those that do, "
        "because dedupe or consolidate merged these into them. The body's `merged` erases them too.",
    )
    merged_sample: tuple[str, ...] = Field((), description="Ids of some of them.")
    operation: OperationAnswer | None
