"""Tenants and credentials."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """A tenant."""

    id: str
    name: str
    created_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """A credential; the secret itself is shown once and only its SHA-256 is kept."""

    id: str
    workspace_id: str
    name: str
    agent_id: str
    permissions: frozenset[str]
    orgs: tuple[str, ...] | None = None
    without_org: bool = True
    act_as: tuple[str, ...] = ()
    """Agents it may speak for; '*' for any."""
    created_at: int = 0
    expires_at: int | None = None
    revoked_at: int | None = None
    rate_limit: int | None = None
    """Requests a minute; None takes the setting."""
    replaces_id: str | None = None
    """The key that this one was made to replace."""


class Access(Protocol):
    """Tenants and credentials."""

    async def create_workspace(self, workspace: Workspace) -> Workspace:
        """`Conflict` where the id is taken."""

    async def workspaces(self) -> Sequence[Workspace]:
        """All, by id, but those that are being deleted."""

    async def create_key(self, key: ApiKey, secret_hash: str) -> None:
        """`NotFound` where the workspace is unknown."""

    async def key_by_hash(self, secret_hash: str) -> ApiKey | None:
        """Also a revoked or expired one: the caller decides by the clock. None of a workspace that is being deleted."""

    async def keys(self, workspace_id: str) -> Sequence[ApiKey]:
        """All of a workspace, newest first."""

    async def revoke_key(self, workspace_id: str, key_id: str) -> bool:
        """False where unknown in that workspace."""
