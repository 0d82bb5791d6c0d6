"""Operations: work that continues after the request that started it."""

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
    cursor: Annotated[str | None, Field(pattern=CURSOR, description="The `next_cursor` of the previous page.")] = None


class OperationQuery(WorkspaceQuery):
    """How long to wait for an operation to change."""

    wait: Annotated[
        int, Field(ge=0, le=limits.WAIT_SECONDS, description="Respond when it has changed, or after this many seconds.")
    ] = 0
    seen: Annotated[
        str | None,
        Field(
            pattern=MARK,
            description="The `mark` of the last response: wait until the operation differs "
            "from it. If left out, from its state now.",
        ),
    ] = None


class OperationAnswer(Answer):
    """One operation."""

    id: str
    kind: str = Field(description="forget, purge, workspace-delete, …")
    status: OperationStatus
    actor: str = Field(description="Who started it.")
    request: dict[str, Any] = Field(description="The request; its members depend on the kind.")
    done: int
    total: int | None = Field(description="The value that `done` will reach; null while it is unknown.")
    result: dict[str, Any] = Field(description="What has been done so far; its members depend on the kind.")
    error: str | None = Field(description="Why it failed.")
    cancel_requested: bool
    created_at: datetime
    updated_at: datetime
    finished_at: datetime | None
    mark: str = Field(description="Pass it as `seen` to get a response when the operation differs from this state.")


class OperationList(Answer):
    """A page of operations, newest first."""

    operations: tuple[OperationAnswer, ...]
    count: int
    next_cursor: str | None = Field(default=None, description="Cursor of the next page; null on the last one.")
