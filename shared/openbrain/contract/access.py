"""Answers about tenants and keys."""

from datetime import datetime

from pydantic import Field

from openbrain.contract.base import Answer


class WorkspaceAnswer(Answer):
    """A tenant."""

    id: str
    name: str
    created_at: datetime
    max_memories: int | None = Field(default=None, description="Quota; null for none.")
    max_bytes: int | None = Field(default=None, description="Quota; null for none.")
    memories: int | None = Field(default=None, description="That live; counted where there is a quota.")
    bytes: int | None = Field(default=None, description="Of their contents; counted where there is a quota.")


class WorkspaceList(Answer):
    """By id."""

    workspaces: tuple[WorkspaceAnswer, ...]
    count: int
    next_cursor: str | None = Field(default=None, description="Where to go on; null at the end.")


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
    rate_limit: int | None = Field(default=None, description="Requests a minute; null takes the setting.")
    replaces_id: str | None = Field(default=None, description="The key that it was made to replace.")


class KeyCreated(KeyAnswer):
    """A new key; `key` is the secret, shown this once."""

    key: str


class KeyRotated(KeyCreated):
    """The successor; `key` is its secret, shown this once."""

    replaced_expires_at: datetime = Field(description="When the old key ends.")


class KeyList(Answer):
    """Newest first."""

    keys: tuple[KeyAnswer, ...]
    count: int
    next_cursor: str | None = Field(default=None, description="Where to go on; null at the end.")


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
