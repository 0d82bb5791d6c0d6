"""Answers about work that outlives a request."""

from datetime import datetime
from typing import Any

from pydantic import Field

from openbrain.contract.base import Answer
from openbrain.ports.operations import OperationStatus


class OperationAnswer(Answer):
    """One operation."""

    id: str
    kind: str = Field(description="forget, purge, workspace-delete, …")
    status: OperationStatus
    actor: str = Field(description="Who asked for it.")
    request: dict[str, Any] = Field(description="What was asked, in the words of its kind.")
    done: int
    total: int | None = Field(description="Of `done`; null while it is not known.")
    result: dict[str, Any] = Field(description="What has been done so far, in the words of its kind.")
    error: str | None = Field(description="Why it failed.")
    cancel_requested: bool
    created_at: datetime
    updated_at: datetime
    finished_at: datetime | None
    mark: str = Field(description="Give it back as `seen` to be answered when the operation differs from this.")


class OperationList(Answer):
    """Newest first."""

    operations: tuple[OperationAnswer, ...]
    count: int
    next_cursor: str | None = Field(default=None, description="Where to go on; null at the end.")


class WorkspaceDeleted(Answer):
    """What a workspace holds, by table, and the operation that ends it; none for a dry run."""

    id: str
    dry_run: bool
    counts: dict[str, int]
    operation: OperationAnswer | None


class BulkEnded(Answer):
    """What a filter matches, and the operation that ends it; none for a dry run, and where nothing matches."""

    dry_run: bool
    erase: bool
    count: int
    sample: tuple[str, ...] = Field(description="Ids of the newest of them.")
    operation: OperationAnswer | None
