"""Answers about tenants and keys."""

from datetime import datetime

from pydantic import Field

from openbrain.answers.base import Answer


class WorkspaceAnswer(Answer):
    """A tenant."""

    id: str
    name: str
    created_at: datetime


class WorkspaceList(Answer):
    """All, by id."""

    workspaces: tuple[WorkspaceAnswer, ...]
    count: int


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


class KeyCreated(KeyAnswer):
    """A new key; `key` is the secret, shown this once."""

    key: str


class KeyList(Answer):
    """Newest first."""

    keys: tuple[KeyAnswer, ...]
    count: int


class Whoami(Answer):
    """Who the credential is, and what it may."""

    key_id: str
    name: str
    workspace_id: str
    agent_id: str | None = Field(description="null: it writes and reads as nobody.")
    permissions: tuple[str, ...]
    orgs: tuple[str, ...] | None = Field(description="null: every org.")
    without_org: bool
    act_as: tuple[str, ...]


class KeyRevoked(Answer):
    """It opens nothing any more."""

    id: str
    revoked: bool
