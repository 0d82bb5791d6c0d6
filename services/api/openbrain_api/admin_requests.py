"""What the admin routes take."""

from typing import Annotated

from pydantic import Field, StringConstraints

from openbrain import limits
from openbrain.auth import Permission
from openbrain.submission import Agent, Hours, Moment, Name, Org
from openbrain_api.requests import Body, QueryString

WorkspaceName = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$", max_length=limits.WORKSPACE_CHARS)
]
KEY_ORGS = 100


class WorkspaceBody(Body):
    """A new tenant."""

    id: Annotated[WorkspaceName, Field(description="Letters, digits, _ and -.")]
    name: Name | None = None


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
    workspace_id: WorkspaceName | None = None


class WorkspaceQuery(QueryString):
    """Whose keys; another workspace than one's own for admin keys of `system` only."""

    workspace_id: WorkspaceName | None = None
