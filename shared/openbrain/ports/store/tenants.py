"""Tenants, their credentials, and how much a credential may ask for."""

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
    """Of living memories; None for any number."""
    max_bytes: int | None = None
    """Of their contents in UTF-8."""
    personal_data: Action = Action.OFF
    """Rule for personal data at write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceChange:
    """Changed parts; None leaves a part as it is, `UNLIMITED` takes a quota away."""

    name: str | None = None
    max_memories: int | None = None
    max_bytes: int | None = None
    personal_data: Action | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Living memories, and the bytes of their contents in UTF-8."""

    memories: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Dropped:
    """Rows that are gone, and how many, of the next few, wait until both indexes hold nothing of them."""

    rows: int
    waiting: int


class Workspaces(Protocol):
    """Tenants from their beginning to their end."""

    async def create_workspace(self, workspace: Workspace) -> Workspace:
        """`Conflict` where the id is taken."""

    async def workspaces(self, limit: int | None = None, after: str = "") -> Sequence[Workspace]:
        """By id, those that follow `after`, but those that are being deleted; all without a limit."""

    async def change_workspace(self, workspace_id: str, change: WorkspaceChange) -> Workspace:
        """`NotFound` where unknown. A quota counts from now on, for every process within two seconds; what is there
        already stays, however much it is."""

    async def personal_data_rules(self) -> PersonalDataRules:
        """Of the workspaces that have one."""

    async def usage(self, ids: Sequence[str]) -> Mapping[str, Usage]:
        """Of the workspaces among these that have a quota."""

    async def workspace_counts(self, workspace_id: str) -> Mapping[str, int]:
        """Numbers of its rows, by table. `NotFound` where it is unknown."""

    async def close_workspace(self, workspace_id: str, operation: Operation) -> Operation:
        """From now on its keys open nothing; queue the operation. Again: the one that stands. `NotFound`."""

    async def erase_all(self, workspace_id: str, limit: int, since: int | None = None) -> Ended:
        """Blank at most `limit` memories of it, the oldest that were made at `since` or after."""

    async def drop_rows(self, workspace_id: str, limit: int) -> Dropped:
        """Remove at most `limit` blanked memories of it with all that belongs to them, the vectors that nobody else
        uses before their rows."""

    async def drop_workspace(self, workspace_id: str, keep: str) -> Mapping[str, int]:
        """Remove the rest in small transactions, its own row last; the operation `keep` stays. Returns how many
        rows, by table. One that was interrupted is gone on with by the next call."""


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
    toolsets: tuple[Toolset, ...] = ()
    """MCP tools that are listed to it over HTTP beside the core, where a request does not choose."""


class ApiKeys(Protocol):
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


@dataclass(frozen=True, slots=True)
class Rate:
    """A bucket of `burst` tokens that fills by `per_minute` a minute."""

    per_minute: int
    burst: int


@dataclass(frozen=True, slots=True)
class Allowance:
    """The outcome of a request for tokens."""

    granted: bool
    remaining: int
    """Tokens left. With several processes, as far as this one knows."""
    full_in_s: float
    """Seconds until the bucket is full again."""
    retry_after_s: float = 0.0
    """The time at which there will be enough, where nothing was granted."""


class Rates(Protocol):
    """Token buckets, one a holder. Never raises and never waits long: what counts them may be away."""

    async def take(self, holder: str, rate: Rate, cost: int) -> Allowance:
        """Take `cost` tokens (at most the burst) of this holder's bucket, or none. 0 looks at what is there."""

    async def close(self) -> None: ...
