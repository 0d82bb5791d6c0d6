"""What the routes of operations take."""

from typing import Annotated

from pydantic import Field

from openbrain.domain import limits
from openbrain.domain.submission import Keyword
from openbrain.ports.operations import OperationStatus
from openbrain_api.requests.admin import WorkspaceQuery
from openbrain_api.requests.memories import CURSOR

MARK = r"^[0-9a-f]{16}$"


class OperationsQuery(WorkspaceQuery):
    """Which of them."""

    many = frozenset({"kind", "status"})

    kind: Annotated[tuple[Keyword, ...], Field(max_length=limits.KEYWORDS, description="purge, forget, …")] = ()
    status: Annotated[tuple[OperationStatus, ...], Field(max_length=len(OperationStatus))] = ()
    limit: Annotated[int, Field(ge=1, le=limits.LIST_LIMIT)] = limits.LIST_LIMIT_DEFAULT
    cursor: Annotated[
        str | None, Field(pattern=CURSOR, description="The next_cursor of an answer: list what follows it.")
    ] = None


class OperationQuery(WorkspaceQuery):
    """How long to watch it."""

    wait: Annotated[
        int, Field(ge=0, le=limits.WAIT_SECONDS, description="Answer when it has changed, or after this many seconds.")
    ] = 0
    seen: Annotated[
        str | None, Field(pattern=MARK, description="The `mark` of the last answer; without, what stands now.")
    ] = None
