"""Tenants and credentials."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """A tenant."""

    id: str
    name: str
    created_at: int
    max_memories: int | None = None
    """Of living memories; None for any number."""
    max_bytes: int | None = None
    """Of their contents in UTF-8."""


UNLIMITED = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceChange:
    """What becomes different; None leaves a part as it is, `UNLIMITED` takes a quota away."""

    name: str | None = None
    max_memories: int | None = None
    max_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Living memories, and the bytes of their contents in UTF-8."""

    memories: int
    bytes: int


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

    async def workspaces(self, limit: int | None = None, after: str = "") -> Sequence[Workspace]:
        """By id, those that follow `after`, but those that are being deleted; all without a limit."""

    async def change_workspace(self, workspace_id: str, change: WorkspaceChange) -> Workspace:
        """`NotFound` where unknown. A quota counts from now on, for every process within two seconds; what is there
        already stays, however much it is."""

    async def usage(self, ids: Sequence[str]) -> Mapping[str, Usage]:
        """Of the workspaces among these that have a quota."""

    async def create_key(self, key: ApiKey, secret_hash: str) -> None:
        """`NotFound` where the workspace is unknown; `Conflict` where it has `limits.KEYS` that open it."""

    async def key_by_hash(self, secret_hash: str) -> ApiKey | None:
        """Also a revoked or expired one: the caller decides by the clock. None of a workspace that is being deleted."""

    async def open_keys(self, ids: Sequence[str], now: int) -> frozenset[str]:
        """Of these the ids of keys that open anything then: neither revoked nor expired, nor of a workspace that is
        being deleted."""

    async def key(self, workspace_id: str, key_id: str) -> ApiKey | None:
        """One of a workspace, whatever its state."""

    async def replace_key(self, key: ApiKey, secret_hash: str, ends_at: int) -> ApiKey:
        """Make the successor of the key `replaces_id`, which ends at `ends_at` unless it ends sooner; returns that one.
        `NotFound` where it is unknown in the successor's workspace; `Conflict` where it has ended, or has a successor
        that was not revoked."""

    async def keys(
        self, workspace_id: str, limit: int | None = None, before: tuple[int, str] | None = None
    ) -> Sequence[ApiKey]:
        """Of a workspace, newest first; `before` (created_at and id of one) lists those that follow it."""

    async def revoke_key(self, workspace_id: str, key_id: str) -> bool:
        """False where unknown in that workspace."""
