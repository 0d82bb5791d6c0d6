"""Ticks as rows: asked for once a slot, worked on by one at a time, and what came of them.

A slot is what makes two requests the same tick: the minute of the schedule, or a caller's key. Dry runs have none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol


class TickState(StrEnum):
    """How far it is."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen to it."""
        return self in (TickState.COMPLETED, TickState.FAILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class TickJob:
    """What is to be done. `id` is the job's."""

    id: str
    workspace_id: str
    slot: str | None
    actor: str
    """Who asked: schedule, an agent, a producer."""
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
    """Why it failed; of one that has not ended, why it was put off."""

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

    async def tick(self, workspace_id: str, tick_id: str) -> Tick | None:
        """One of that workspace."""

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
