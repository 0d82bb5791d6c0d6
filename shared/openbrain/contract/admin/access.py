"""Workspaces and keys."""

from datetime import datetime
from typing import Annotated, Self

from pydantic import Field, model_validator

from openbrain.contract.admin.operations import OperationAnswer
from openbrain.contract.base import CURSOR, Answer, Body, PageSize, QueryString, WorkspaceName, WorkspaceQuery
from openbrain.domain import limits
from openbrain.domain.access.permissions import Permission
from openbrain.domain.access.toolsets import Toolset
from openbrain.domain.events.data import MOST
from openbrain.domain.events.submission import Agent, Hours, Moment, Name, Org
from openbrain.ports.content import Action

KEY_ORGS = 100
OVERLAP_S = 24 * 3600
MOST_OVERLAP_S = 90 * 24 * 3600
MaxMemories = Annotated[
    int, Field(strict=True, ge=0, le=MOST, description="Quota of living memories; null: unlimited.")
]
MaxBytes = Annotated[
    int,
    Field(
        strict=True,
        ge=0,
        le=MOST,
        description="Quota of the contents of living memories, in bytes of UTF-8; null: unlimited.",
    ),
]
PersonalData = Annotated[
    Action,
    Field(description="What happens to e-mail addresses, telephone numbers and other personal data in what is stored."),
]
RequestRate = Annotated[
    int, Field(strict=True, ge=1, le=10_000_000, description="Requests per minute; null: the server's setting.")
]


LISTED = "MCP tools listed to this key over HTTP in addition to core, if a request has no OpenBrain-Toolsets header."
Toolsets = Annotated[tuple[Toolset, ...], Field(max_length=len(Toolset), description=LISTED)]


class WorkspaceBody(Body, extra="forbid"):
    """A new tenant."""

    id: Annotated[WorkspaceName, Field(description="Letters, digits, _ and -.")]
    name: Name | None = None
    max_memories: MaxMemories | None = None
    max_bytes: MaxBytes | None = None
    personal_data: PersonalData | None = None


class WorkspaceChangeBody(Body, extra="forbid"):
    """The members to change. A member left out stays unchanged; null removes a quota."""

    name: Name | None = None
    max_memories: MaxMemories | None = None
    max_bytes: MaxBytes | None = None
    personal_data: PersonalData | None = None


class KeyBody(Body, extra="forbid"):
    """A new key. Only admin keys of the workspace `system` may name a workspace other than their own."""

    name: Name
    permissions: Annotated[tuple[Permission, ...], Field(min_length=1, max_length=len(Permission))]
    agent_id: Agent | None = None
    orgs: Annotated[
        tuple[Org, ...] | None,
        Field(min_length=1, max_length=KEY_ORGS, description="Orgs that the key has access to; null: all."),
    ] = None
    without_org: Annotated[
        bool,
        Field(strict=True, description="Whether a key limited to orgs also has access to what belongs to no org."),
    ] = True
    act_as: Annotated[
        tuple[Agent, ...], Field(max_length=KEY_ORGS, description="Agents that the key may act as; '*': any.")
    ] = ()
    expires_in: Annotated[Hours | None, Field(description="Hours from now.")] = None
    expires_at: Moment | None = None
    rate_limit: RequestRate | None = None
    toolsets: Toolsets = ()
    workspace_id: WorkspaceName | None = None

    @model_validator(mode="after")
    def _one_expiry(self) -> Self:
        if self.expires_in is not None and self.expires_at is not None:
            raise ValueError("expires_in and expires_at exclude each other")
        return self


class RotateBody(Body, extra="forbid"):
    """When the old key ends."""

    overlap_s: Annotated[
        int,
        Field(
            strict=True, ge=0, le=MOST_OVERLAP_S, description="How long both keys work; 0: the old key ends at once."
        ),
    ] = OVERLAP_S


class KeysQuery(WorkspaceQuery):
    """The filters and the page of a list of keys."""

    limit: PageSize = limits.LIST_LIMIT
    cursor: Annotated[str | None, Field(pattern=CURSOR, description="The `next_cursor` of the previous page.")] = None


class WorkspacesQuery(QueryString):
    """The filters and the page of a list of workspaces."""

    limit: PageSize = limits.LIST_LIMIT
    cursor: Annotated[WorkspaceName | None, Field(description="The `next_cursor` of the previous page.")] = None


class DeleteWorkspaceQuery(QueryString, extra="forbid"):
    """Confirms the deletion of a workspace: first a dry run, then its id once more."""

    dry_run: Annotated[bool, Field(description="Only report what it contains.")] = False
    confirm: Annotated[WorkspaceName | None, Field(description="The workspace's id once more.")] = None


class WorkspaceAnswer(Answer):
    """A tenant."""

    id: str
    name: str
    created_at: datetime
    max_memories: int | None = Field(default=None, description="Quota; null: unlimited.")
    max_bytes: int | None = Field(default=None, description="Quota; null: unlimited.")
    memories: int | None = Field(
        default=None, description="Number of living memories; counted only if there is a quota."
    )
    bytes: int | None = Field(default=None, description="Bytes of their contents; counted only if there is a quota.")
    personal_data: Action = Field(default=Action.OFF, description="What happens to personal data in what is stored.")


class WorkspaceList(Answer):
    """A page of workspaces, by id."""

    workspaces: tuple[WorkspaceAnswer, ...]
    count: int
    next_cursor: str | None = Field(default=None, description="Cursor of the next page; null on the last one.")


class KeyAnswer(Answer):
    """A key, without its secret."""

    id: str
    workspace_id: str
    name: str
    agent_id: str | None
    permissions: tuple[str, ...]
    orgs: tuple[str, ...] | None = Field(description="null: every org.")
    without_org: bool
    act_as: tuple[str, ...]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    rate_limit: int | None = Field(default=None, description="Requests per minute; null: the server's setting.")
    replaces_id: str | None = Field(default=None, description="The key that it replaces.")
    toolsets: tuple[Toolset, ...] = Field(default=(), description=LISTED)


class KeyCreated(KeyAnswer):
    """A new key; `key` is the secret, only returned here."""

    key: str


class KeyRotated(KeyCreated):
    """The key that replaces another one; `key` is its secret, only returned here."""

    replaced_expires_at: datetime = Field(description="When the old key ends.")


class KeyList(Answer):
    """A page of keys, newest first."""

    keys: tuple[KeyAnswer, ...]
    count: int
    next_cursor: str | None = Field(default=None, description="Cursor of the next page; null on the last one.")


class Whoami(Answer):
    """The identity and the rights of the credential."""

    key_id: str
    name: str
    workspace_id: str
    agent_id: str | None = Field(description="null: it reads and writes as no agent.")
    permissions: tuple[str, ...]
    orgs: tuple[str, ...] | None = Field(description="null: every org.")
    without_org: bool
    act_as: tuple[str, ...]
    toolsets: tuple[Toolset, ...] = Field(default=(), description=LISTED)


class KeyRevoked(Answer):
    """A revoked key."""

    id: str
    revoked: bool


class WorkspaceDeleted(Answer):
    """The number of rows of a workspace, by table, and the operation that deletes it; null for a dry run."""

    id: str
    dry_run: bool
    counts: dict[str, int] = Field(description="By table; `held`: the memories that a legal hold covers, if any.")
    operation: OperationAnswer | None
