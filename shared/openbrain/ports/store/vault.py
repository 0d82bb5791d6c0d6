"""A vault in the database: its ticks, the memories of its markers, what clients wrote into it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultMemory:
    """One marker that became a memory."""

    arc: str
    """The arc's id; the path of a page that is no arc."""
    marker: str
    """The marker's identity within the arc, stable over edits."""
    memory_id: str
    content_hash: str
    """Of its type and what it says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultWrite:
    """One request. `done`: its file is known to be written; until then another attempt looks first."""

    workspace_id: str
    key: str
    """The caller's word for "this is the same again"; with the caller's own id before it."""
    content_hash: str
    """Of all that was asked for."""
    path: str
    at: int
    """The time of the first request, microseconds."""
    expires_at: int
    done: bool = False


class Vault(Protocol):
    """Markers and requests of a vault. A row is repeated without harm; requests are claimed under the vault's lease."""

    async def vault_memories(self, workspace_id: str) -> Sequence[VaultMemory]:
        """All of them, in order of arc and marker."""

    async def record_vault_memories(
        self, workspace_id: str, put: Sequence[VaultMemory], drop: Collection[tuple[str, str]]
    ) -> None:
        """Rows of (arc, marker) removed, then others added or replaced."""

    async def vault_digest(self, workspace_id: str) -> str:
        """Of the markers up to which the memories were last brought; '' for never."""

    async def note_vault_digest(self, workspace_id: str, digest: str) -> None:
        """Note that the memories match the markers with this digest."""

    async def memories_of_arcs(self, workspace_id: str, arcs: Collection[str]) -> Mapping[str, tuple[str, ...]]:
        """The ids of the memories made of each of these arcs; absent where there are none."""

    async def claim_vault_write(self, write: VaultWrite) -> VaultWrite:
        """Note it; where the key is known and has not expired, the one that stands. `Conflict` where it came with other
        content."""

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
    """The requester: schedule, an agent, a producer."""
    extract: bool = False
    ai: bool = True
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A job and how it stands. Times are microseconds."""

    job: TickJob
    state: TickState
    requested_at: int
    started_at: int | None = None
    finished_at: int | None = None
    report: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    """The reason of its failure; of a tick that has not ended, the reason of its delay."""

    @property
    def put_off(self) -> bool:
        """Whether it waits to be tried again."""
        return self.state is TickState.PENDING and bool(self.error)


class Ticks(Protocol):
    """A foreign id answers like an unknown one: with None."""

    async def request_tick(self, job: TickJob, *, announce: bool = True) -> Tick:
        """Write it down, and say so as `tick.requested`; again with the same id, or another job of the same slot: the
        one that stands, and nothing is said. `announce=False`: the event is here already. `NotFound` for an unknown
        workspace."""

    async def tick(self, workspace_id: str, tick_id: str) -> Tick | None: ...

    async def ticks(self, workspace_id: str, limit: int) -> Sequence[Tick]:
        """The newest first, without their reports."""

    async def hold_tick(self, tick_id: str, holder: str, seconds: float) -> Tick | None:
        """Begin it, or go on with one whose holder is gone, for that long; None where another holds it or it ended."""

    async def keep_tick(self, tick_id: str, holder: str, seconds: float) -> bool:
        """Hold it for longer; False where it is ours no more."""

    async def finish_tick(self, tick_id: str, holder: str, report: Mapping[str, Any], error: str = "") -> bool:
        """Completed, or failed where there is an error; says so as `tick.completed`, without what `diff` holds. False
        where it is ours no more, and then nothing is written."""

    async def put_off_tick(self, tick_id: str, holder: str, seconds: float, why: str) -> bool:
        """Give it back, pending again with why: `announce_ticks` says it anew once it has been idle from so many
        seconds on. False where it is ours no more."""

    async def announce_ticks(self, idle_since: int, limit: int) -> int:
        """Say `tick.requested` again of those that nobody has begun or gone on with since that time; returns how
        many. One that was asked for more than a day ago has failed."""

    async def purge_ticks(self, ended_before: int, limit: int) -> int:
        """Remove those that ended before a time; returns how many."""
