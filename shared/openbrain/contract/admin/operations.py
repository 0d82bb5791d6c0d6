"""Work that outlives a request."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from openbrain.contract.base import CURSOR, Answer, WorkspaceQuery
from openbrain.domain import limits
from openbrain.domain.events.submission import Keyword
from openbrain.ports.store.operations import OperationStatus

MARK = r"^[0-9a-f]{16}$"


class OperationsQuery(WorkspaceQuery):
    """The filters and the page of a list of operations."""

    many = frozenset({"kind", "status"})

    kind: Annotated[tuple[Keyword, ...], Field(max_length=limits.KEYWORDS, description="purge, forget, …")] = ()
    status: Annotated[tuple[OperationStatus, ...], Field(max_length=len(OperationStatus))] = ()
    limit: Annotated[int, Field(ge=1, le=limits.LIST_LIMIT)] = limits.LIST_LIMIT_DEFAULT
    cursor: Annotated[
        str | None, Field(pattern=CURSOR, description="The next_cursor of an answer: list what follows it.")
    ] = None


class OperationQuery(WorkspaceQuery):
    """The time for which an operation is watched."""

    wait: Annotated[
        int, Field(ge=0, le=limits.WAIT_SECONDS, description="Answer when it has changed, or after this many seconds.")
    ] = 0
    seen: Annotated[
        str | None, Field(pattern=MARK, description="The `mark` of the last answer; without, what stands now.")
    ] = None


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
