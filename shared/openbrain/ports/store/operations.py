"""Long-running work: queued by a request, run by the housekeeper, watched and cancelled by the requester.

One holder works on an operation at a time, under a lease. If the lease expires, another continues from the last stored
progress. So each kind does its work in steps that may be repeated.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

TRACES = "traces"
"""Member of a request for the worker only: never shown, and removed when the operation ends."""


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
    """The state of an operation after a step."""

    done: int
    total: int | None = None
    result: Mapping[str, Any] = field(default_factory=dict)
    finished: bool = False
    waits: bool = False
    """The step could do nothing; it waits for something else."""


class Operations(Protocol):
    """The id of another workspace is treated like an unknown one: None."""

    async def start_operation(self, operation: Operation) -> Operation:
        """Queue it. If the id exists, return the existing operation."""

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
        """List operations, newest first. `before`: created_at and id of the last operation of the previous page.
        Without kinds or statuses: any."""

    async def cancel_operation(self, workspace_id: str, operation_id: str) -> Operation | None:
        """Cancel: a queued operation ends at once, a running one after its step, an ended one stays as it is. Raise
        `Conflict` for a purge: nobody could resume it."""

    async def hold_operation(self, holder: str, seconds: float, kinds: Collection[str]) -> Operation | None:
        """Lease the operation of these kinds that has waited longest among those without a holder, for `seconds`."""

    async def keep_operation(self, operation_id: str, holder: str, seconds: float) -> bool:
        """Extend the lease. False if we no longer hold it."""

    async def advance_operation(self, operation_id: str, holder: str, progress: Progress) -> Operation | None:
        """Store the progress and release the lease, so that others get their turn. `finished` ends the operation as
        done. Return None and store nothing if we no longer hold it."""

    async def end_operation(
        self, operation_id: str, holder: str, status: OperationStatus, error: str = ""
    ) -> Operation | None:
        """End it as failed or cancelled, keeping its progress."""

    async def runs(self, operation: Operation) -> bool:
        """False if the operation has ended or is to be cancelled: its last calls may have changed nothing."""

    async def followed(self, operation: Operation) -> bool:
        """True if another operation of its kind, of any workspace, is queued."""

    async def purge_operations(self, ended_before: int, limit: int, workspace_id: str | None = None) -> int:
        """Remove operations that ended before `ended_before`, of one workspace or all, except under a legal hold.
        Return how many."""


class Leases(Protocol):
    """Leader election through the database."""

    async def acquire(self, name: str, holder: str, seconds: float) -> bool:
        """Take or extend the lease. False while another holder's lease is valid."""

    async def release(self, name: str, holder: str) -> None:
        """Release the lease now, if we hold it."""


class AllLeases(Leases, Protocol):
    """The leases of every process."""

    async def end_all(self) -> None:
        """End all leases, the holds of operations and ticks, and the entries of index writers. Only while no other
        process uses the database."""
