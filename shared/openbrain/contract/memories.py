"""Answers about memories."""

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from openbrain.contract.base import Answer
from openbrain.domain.memory import MemoryType, Reason, Scope, State


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
    metadata: dict[str, Any]
    version: int
    state: State
    indexed: bool = Field(description="Both indexes hold this revision, so that a recall finds it.")
    reason: Reason | None = Field(description="Why it left recall.")
    index_error: str | None = Field(description="Why its current revision can't be indexed.")


class Remembered(MemoryAnswer):
    """The memory that now stands for what was offered."""

    duplicate: bool = Field(description="The same content was there already: this is that memory.")


class BatchItem(Answer):
    """What became of one item of a batch; `error` and `message` where it was refused."""

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
    count: int = Field(description="How many of them stand in the truth now.")


class IndexShare(Answer):
    """What one index added to a score."""

    rank: int = Field(description="Its place in that index's list, from 1.")
    score: float = Field(description="The index's own.")
    normalised: float = Field(description="0 for the worst of that list, 1 for the best.")
    weight: float


class Explanation(Answer):
    """How a score and its place came about: relevance in buckets, then scope, then effective confidence, then age."""

    text: IndexShare | None = Field(description="null: the keywords did not find it.")
    vectors: IndexShare | None
    fused: float = Field(description="Both shares, weighed and added.")
    boosted: float = Field(description="With the keywords of the request: the score of the answer.")
    bucket: int = Field(description="How many bucket widths below the best; within one, the rest decides.")
    scope: Scope
    effective_confidence: float = Field(description="Confidence, faded by the age since it was confirmed.")


class Recalled(Answer):
    """Best first."""

    recall_id: str = Field(description="Names this answer, for feedback.")
    memories: tuple[MemoryAnswer, ...]
    scores: dict[str, float]
    count: int
    took_ms: float
    degraded: tuple[Literal["vectors", "text"], ...] = Field(
        description="Indexes that did not answer; with both, the database was searched for words."
    )
    explained: dict[str, Explanation] | None = Field(default=None, description="By id, where `explain` was asked for.")


class RefusedQuestion(Answer):
    """Why one question of several has no answer."""

    error: str
    message: str
    field: str | None = None


class RecalledBatch(Answer):
    """One result per question, in order. `took_ms` of each is that of all together."""

    results: tuple[Recalled | RefusedQuestion, ...]
    count: int = Field(description="How many of them were answered.")


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


class Forgotten(MemoryAnswer):
    """The memory as it ended."""

    forgotten: bool


class Ended(Forgotten):
    """The same; where it was erased, what is left of it, and the operation that takes its traces away."""

    erased: bool
    operation_id: str | None = Field(description="Null where it was not erased, or where that is long over.")
