"""What the admin routes take."""

from typing import Annotated

from pydantic import Field, StringConstraints

from openbrain.domain import limits
from openbrain.domain.submission import Agent, Hours, Moment, Name, Org
from openbrain.usecases.auth import Permission
from openbrain_api.requests.memories import CURSOR, Body, QueryString

QUOTA = 2**53 - 1
WorkspaceName = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$", max_length=limits.WORKSPACE_CHARS)
]
KEY_ORGS = 100
OVERLAP_S = 24 * 3600
MOST_OVERLAP_S = 90 * 24 * 3600
MaxMemories = Annotated[int, Field(strict=True, ge=0, le=QUOTA, description="Of living memories; null for any number.")]
MaxBytes = Annotated[int, Field(strict=True, ge=0, le=QUOTA, description="Of their contents in UTF-8; null for any.")]
RequestRate = Annotated[
    int, Field(strict=True, ge=1, le=10_000_000, description="Requests a minute; null takes the setting.")
]


class WorkspaceBody(Body):
    """A new tenant."""

    id: Annotated[WorkspaceName, Field(description="Letters, digits, _ and -.")]
    name: Name | None = None
    max_memories: MaxMemories | None = None
    max_bytes: MaxBytes | None = None


class WorkspaceChangeBody(Body):
    """What to change. A member left out stays; null takes a quota away."""

    name: Name | None = None
    max_memories: MaxMemories | None = None
    max_bytes: MaxBytes | None = None


class KeyBody(Body):
    """A new key. Only admin keys of the workspace `system` may name another workspace than their own."""

    name: Name
    permissions: Annotated[tuple[Permission, ...], Field(min_length=1, max_length=len(Permission))]
    agent_id: Agent | None = None
    orgs: Annotated[tuple[Org, ...] | None, Field(min_length=1, max_length=KEY_ORGS, description="null: all.")] = None
    without_org: Annotated[
        bool,
        Field(strict=True, description="Whether a key limited to orgs may also have what belongs to none."),
    ] = True
    act_as: Annotated[tuple[Agent, ...], Field(max_length=KEY_ORGS, description="Agents; '*' for any.")] = ()
    expires_in: Annotated[Hours | None, Field(description="Hours from now.")] = None
    expires_at: Moment | None = None
    rate_limit: RequestRate | None = None
    workspace_id: WorkspaceName | None = None


class RotateBody(Body):
    """How the old key ends."""

    overlap_s: Annotated[
        int, Field(strict=True, ge=0, le=MOST_OVERLAP_S, description="For how long both open; 0 ends the old at once.")
    ] = OVERLAP_S


class WorkspaceQuery(QueryString):
    """Whose keys; another workspace than one's own for admin keys of `system` only."""

    workspace_id: WorkspaceName | None = None


PageSize = Annotated[int, Field(ge=1, le=limits.LIST_LIMIT)]


class KeysQuery(WorkspaceQuery):
    """Which of them."""

    limit: PageSize = limits.LIST_LIMIT
    cursor: Annotated[str | None, Field(pattern=CURSOR, description="The next_cursor of an answer.")] = None


class WorkspacesQuery(QueryString):
    """Which of them."""

    limit: PageSize = limits.LIST_LIMIT
    cursor: Annotated[WorkspaceName | None, Field(description="The next_cursor of an answer.")] = None
