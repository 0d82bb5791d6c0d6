"""A vault's data in the database: ticks, memories made from markers, and client writes."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultMemory:
    """A marker that became a memory."""

    arc: str
    """The arc's id; for a page that is not an arc, its path."""
    marker: str
    """The marker's identity within the arc, stable over edits."""
    memory_id: str
    content_hash: str
    """Hash of its type and content."""
    project: str | None = None
    """The project that it or its page named at the last tick, '' for none; None in rows of an earlier version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultWrite:
    """One write request. `done`: the file is known to be written; until then a retry checks first."""

    workspace_id: str
    key: str
    """The idempotency key, prefixed with the caller's id."""
    content_hash: str
    """Hash of the whole request."""
    path: str
    at: int
    """The time of the first request, microseconds."""
    expires_at: int
    done: bool = False


class Vault(Protocol):
    """Markers and requests of a vault. Writing a row twice is harmless; requests are claimed under the vault's
    lease."""

    async def vault_memories(self, workspace_id: str) -> Sequence[VaultMemory]:
        """List all of them, ordered by arc and marker."""

    async def record_vault_memories(
        self, workspace_id: str, put: Sequence[VaultMemory], drop: Collection[tuple[str, str]]
    ) -> None:
        """Remove rows by (arc, marker), then insert or replace others."""

    async def vault_digest(self, workspace_id: str) -> str:
        """Return the digest of the markers that the memories were last synchronised with; '' for never."""

    async def note_vault_digest(self, workspace_id: str, digest: str) -> None:
        """Note that the memories match the markers with this digest."""

    async def memories_of_arcs(self, workspace_id: str, arcs: Collection[str]) -> Mapping[str, tuple[str, ...]]:
        """Return the ids of the memories made from each of these arcs; arcs without any are absent."""

    async def claim_vault_write(self, write: VaultWrite) -> VaultWrite:
        """Store the request. If the key is known and has not expired, return the stored one. Raise `Conflict` if that
        one had other content."""

    async def finish_vault_write(self, write: VaultWrite) -> None: ...


class TickState(StrEnum):
    """The state of a tick."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"

    @property
    def ended(self) -> bool:
        return self in (TickState.COMPLETED, TickState.FAILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class TickJob:
    """A requested tick. `id` is the job's."""

    id: str
    workspace_id: str
    slot: str | None
    actor: str
    """Who requested it: the schedule, an agent or a producer."""
    extract: bool = False
    ai: bool = True
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A tick job and its state. Times are microseconds."""

    job: TickJob
    state: TickState
    requested_at: int
    started_at: int | None = None
    finished_at: int | None = None
    report: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    """Why it failed or, if it has not ended, why it is delayed."""

    @property
    def put_off(self) -> bool:
        """True if it waits for a retry."""
        return self.state is TickState.PENDING and bool(self.error)


class Ticks(Protocol):
    """The id of another workspace is treated like an unknown one: None."""

    async def request_tick(self, job: TickJob, *, announce: bool = True) -> Tick:
        """Store the job and publish `tick.requested`. For a known id, or another job of the same slot, return the
        existing tick and publish nothing. `announce=False`: the event exists already. Raise `NotFound` for an unknown
        workspace."""

    async def tick(self, workspace_id: str, tick_id: str) -> Tick | None: ...

    async def ticks(self, workspace_id: str, limit: int) -> Sequence[Tick]:
        """List ticks, newest first, without their reports."""

    async def hold_tick(self, tick_id: str, holder: str, seconds: float) -> Tick | None:
        """Start it, or take over from a holder whose lease expired, for `seconds`. None if another holds it or it has
        ended."""

    async def keep_tick(self, tick_id: str, holder: str, seconds: float) -> bool:
        """Extend the lease. False if we no longer hold it."""

    async def finish_tick(self, tick_id: str, holder: str, report: Mapping[str, Any], error: str = "") -> bool:
        """Complete it, or fail it if there is an error; publish `tick.completed` with the report without `diff`. Return
        False and store nothing if we no longer hold it."""

    async def put_off_tick(self, tick_id: str, holder: str, seconds: float, why: str) -> bool:
        """Release it as pending, with the reason. `announce_ticks` may announce it again after `seconds`. False if we
        no longer hold it."""

    async def announce_ticks(self, idle_since: int, limit: int) -> int:
        """Publish `tick.requested` again for ticks without activity since `idle_since`. Return how many. A tick
        requested more than a day ago fails instead."""

    async def purge_ticks(self, ended_before: int, limit: int) -> int:
        """Remove ticks that ended before `ended_before`. Return how many."""
