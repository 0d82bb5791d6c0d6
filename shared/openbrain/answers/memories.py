"""Answers about memories."""

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from openbrain.answers.base import Answer
from openbrain.memory import MemoryType, Reason, Scope, State


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


class RememberedBatch(Answer):
    """One result per item, in order."""

    results: tuple[BatchItem, ...]
    count: int = Field(description="How many of them stand in the truth now.")


class Recalled(Answer):
    """Best first."""

    memories: tuple[MemoryAnswer, ...]
    scores: dict[str, float]
    count: int
    took_ms: float
    degraded: tuple[Literal["vectors", "text"], ...] = Field(
        description="Indexes that did not answer; with both, the database was searched for words."
    )


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
    """One memory; with `?history=1` also its audit and its chain."""

    history: tuple[HistoryLine, ...] | None = None
    lineage: Lineage | None = None


class Forgotten(MemoryAnswer):
    """The memory as it ended."""

    forgotten: bool
