"""Workspaces, their API keys, and rate limits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from openbrain.domain.access.toolsets import Toolset
from openbrain.ports.content import Action, PersonalDataRules
from openbrain.ports.store.operations import Operation
from openbrain.ports.store.writes import Ended

CLOSE = "workspace-delete"
UNLIMITED = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """A tenant."""

    id: str
    name: str
    created_at: int
    max_memories: int | None = None
    """Limit of living memories; None for no limit."""
    max_bytes: int | None = None
    """Limit of their contents in UTF-8 bytes."""
    personal_data: Action = Action.OFF
    """What to do with personal data on write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceChange:
    """The changed fields; None keeps a field, `UNLIMITED` removes a quota."""

    name: str | None = None
    max_memories: int | None = None
    max_bytes: int | None = None
    personal_data: Action | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Number of living memories, and the UTF-8 bytes of their contents."""

    memories: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Dropped:
    """The number of removed rows, and how many of the next ones still wait for both indexes to remove them."""

    rows: int
    waiting: int


class Workspaces(Protocol):
    """Creation, change and deletion of workspaces."""

    async def create_workspace(self, workspace: Workspace) -> Workspace:
        """Raise `Conflict` if the id is taken."""

    async def workspaces(self, limit: int | None = None, after: str = "") -> Sequence[Workspace]:
        """List workspaces by id, behind `after`, except those being deleted; without a limit all."""

    async def change_workspace(self, workspace_id: str, change: WorkspaceChange) -> Workspace:
        """Change a workspace. Raise `NotFound` if unknown. A new quota applies in every process within two seconds;
        existing memories stay even if they exceed it."""

    async def personal_data_rules(self) -> PersonalDataRules:
        """Return the rules of the workspaces that have one."""

    async def usage(self, ids: Sequence[str]) -> Mapping[str, Usage]:
        """Return the usage of those of these workspaces that have a quota."""

    async def workspace_counts(self, workspace_id: str) -> Mapping[str, int]:
        """Return its numbers of rows by table. Raise `NotFound` if it is unknown."""

    async def close_workspace(self, workspace_id: str, operation: Operation) -> Operation:
        """Invalidate its keys and queue the deletion. Repeated: return the existing operation. Raise `NotFound` if
        unknown."""

    async def erase_all(self, workspace_id: str, limit: int, since: int | None = None) -> Ended:
        """Blank at most `limit` of its memories, oldest first, among those made at `since` or later."""

    async def drop_rows(self, workspace_id: str, limit: int) -> Dropped:
        """Remove at most `limit` of its blanked memories and all rows that belong to them. Vectors that nobody else
        uses are removed first."""

    async def drop_workspace(self, workspace_id: str, keep: str) -> Mapping[str, int]:
        """Remove the remaining rows in small transactions, the workspace's row last; keep the operation `keep`. Return
        the number of rows by table. The next call continues an interrupted one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """A credential. The secret is shown once; only its SHA-256 is stored."""

    id: str
    workspace_id: str
    name: str
    agent_id: str
    permissions: frozenset[str]
    orgs: tuple[str, ...] | None = None
    without_org: bool = True
    act_as: tuple[str, ...] = ()
    """Agents it may act as; '*' for any."""
    created_at: int = 0
    expires_at: int | None = None
    revoked_at: int | None = None
    rate_limit: int | None = None
    """Requests per minute; None uses the setting."""
    replaces_id: str | None = None
    """The key that this one replaces."""
    toolsets: tuple[Toolset, ...] = ()
    """MCP tools listed to it over HTTP in addition to the core ones, unless the request selects them."""


class ApiKeys(Protocol):
    async def create_key(self, key: ApiKey, secret_hash: str) -> None:
        """Raise `NotFound` if the workspace is unknown, `Conflict` if it has `limits.KEYS` valid keys."""

    async def key_by_hash(self, secret_hash: str) -> ApiKey | None:
        """Return the key even if revoked or expired: the caller checks the time. None if its workspace is being
        deleted."""

    async def open_keys(self, ids: Sequence[str], now: int) -> frozenset[str]:
        """Return those of these key ids that are valid at `now`: not revoked, not expired, workspace not being
        deleted."""

    async def key(self, workspace_id: str, key_id: str) -> ApiKey | None:
        """Return a key of a workspace in any state."""

    async def full_expiry(self, workspace_id: str, key_id: str) -> int | None:
        """Return when the key was made to expire, before rotations let it end earlier."""

    async def replace_key(self, key: ApiKey, secret_hash: str, ends_at: int) -> ApiKey:
        """Create the successor of key `replaces_id` and let that one expire at `ends_at` unless it ends earlier. Return
        the old key. Raise `NotFound` if it is unknown in the successor's workspace, `Conflict` if it has ended or has a
        successor that is not revoked."""

    async def keys(
        self, workspace_id: str, limit: int | None = None, before: tuple[int, str] | None = None
    ) -> Sequence[ApiKey]:
        """List a workspace's keys, newest first. `before`: created_at and id of the last key of the previous page."""

    async def revoke_key(self, workspace_id: str, key_id: str) -> bool:
        """Revoke a key. False if it is unknown in that workspace."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A token bucket of size `burst`, refilled at `per_minute` tokens a minute."""

    per_minute: int
    burst: int


@dataclass(frozen=True, slots=True)
class Allowance:
    """The result of taking tokens."""

    granted: bool
    remaining: int
    """Tokens left, as far as this process knows."""
    full_in_s: float
    """Seconds until the bucket is full again."""
    retry_after_s: float = 0.0
    """Seconds until there are enough tokens, if none were granted."""


class Rates(Protocol):
    """Token buckets, one per holder. Never raises and never blocks long, even if the counting server is down."""

    async def take(self, holder: str, rate: Rate, cost: int) -> Allowance:
        """Take `cost` tokens (at most the burst) from this holder's bucket, or none. A cost of 0 only reads the
        state."""

    async def close(self) -> None: ...
