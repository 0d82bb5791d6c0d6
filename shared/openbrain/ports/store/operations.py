"""Work that outlives a request: queued with it, done by the housekeeper, watched and cancelled by whoever asked.

An operation is worked on by one holder at a time. A hold that is not kept ends, and another takes the work up from what
was last written down: so every kind does its work in steps that may be repeated.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

TRACES = "traces"
"""Member of a request that is for the worker alone: never shown, and gone when the work ends."""


class OperationStatus(StrEnum):
    """The state of an operation."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def ended(self) -> bool:
        return self not in (OperationStatus.QUEUED, OperationStatus.RUNNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One piece of work. Times are microseconds."""

    id: str
    workspace_id: str
    kind: str
    actor: str
    status: OperationStatus = OperationStatus.QUEUED
    request: Mapping[str, Any] = field(default_factory=dict)
    """The parameters of its kind."""
    done: int = 0
    total: int | None = None
    result: Mapping[str, Any] = field(default_factory=dict)
    """The result so far; the worker's notes while it runs."""
    error: str = ""
    cancel_requested: bool = False
    created_at: int = 0
    updated_at: int = 0
    finished_at: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The point to which a step has brought an operation."""

    done: int
    total: int | None = None
    result: Mapping[str, Any] = field(default_factory=dict)
    finished: bool = False
    waits: bool = False
    """The step could do nothing: it waits for others."""


class Operations(Protocol):
    """A foreign id answers like an unknown one: with None."""

    async def start_operation(self, operation: Operation) -> Operation:
        """Queue it; again with the same id: the one that stands."""

    async def operation(self, workspace_id: str, operation_id: str) -> Operation | None: ...

    async def operations(
        self,
        workspace_id: str,
        limit: int,
        *,
        kinds: Collection[str] = (),
        statuses: Collection[OperationStatus] = (),
        before: tuple[int, str] | None = None,
    ) -> Sequence[Operation]:
        """Newest first; `before` (created_at and id of one) lists those that follow it. No kinds, no statuses: all."""

    async def cancel_operation(self, workspace_id: str, operation_id: str) -> Operation | None:
        """A queued one ends at once, a running one after its step; one that has ended stays as it is. `Conflict` for a
        purge: nobody could take it up again."""

    async def hold_operation(self, holder: str, seconds: float, kinds: Collection[str]) -> Operation | None:
        """Take the one of these kinds that has waited longest of those that nobody holds, for that long."""

    async def keep_operation(self, operation_id: str, holder: str, seconds: float) -> bool:
        """Hold it for longer; False where it is ours no more."""

    async def advance_operation(self, operation_id: str, holder: str, progress: Progress) -> Operation | None:
        """Write down how far it is, and let go of it: others get their turn. Finished: it is done. None where it is
        ours no more, and then nothing is written."""

    async def end_operation(
        self, operation_id: str, holder: str, status: OperationStatus, error: str = ""
    ) -> Operation | None:
        """Failed or cancelled, with what it had done by then."""

    async def followed(self, operation: Operation) -> bool:
        """Whether another of its kind, of whatever workspace, waits to be begun."""

    async def purge_operations(self, ended_before: int, limit: int, workspace_id: str | None = None) -> int:
        """Remove those that ended before a time, of one workspace or of all, but where a legal hold stands; returns how
        many."""


class Leases(Protocol):
    """One leader at a time, by the database's word."""

    async def acquire(self, name: str, holder: str, seconds: float) -> bool:
        """Take or prolong; False while another's has not run out."""

    async def release(self, name: str, holder: str) -> None:
        """Give back at once, if it is ours."""
