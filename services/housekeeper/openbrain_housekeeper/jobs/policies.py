"""Job `policies`: starts the lifecycle jobs that workspaces have scheduled."""

import uuid

import structlog

from openbrain.domain.memory import DAY, MICROSECONDS
from openbrain.ports.clock import Clock
from openbrain.ports.lifecycle import Policies, PolicyDocument, Run
from openbrain.ports.store.operations import Operation, Operations
from openbrain.usecases.tick_schedule import last_slot

PAGE = 200
"""Documents read at once."""
MISSED = DAY
"""A job overdue by more than this, because no housekeeper ran, waits for its next time."""
_SLOTS = uuid.UUID("4d6c2f0e-5b8e-4a55-9d6b-0a4c7e0b6f11")
_log = structlog.get_logger(__name__)


class PolicySchedule:
    """Starts one operation per policy and slot, whichever replica does it: the operation's id is derived from both."""

    def __init__(self, policies: Policies, operations: Operations, clock: Clock) -> None:
        self._policies, self._operations, self._clock = policies, operations, clock

    async def round(self) -> int:
        """Start the jobs that are due; their number."""
        started, after = 0, ""
        while documents := await self._policies.documents(PAGE, after):
            for document in documents:
                for run in document.runs:
                    started += await self._start(document, run)
            after = documents[-1].workspace_id
        return started

    async def _start(self, document: PolicyDocument, run: Run) -> bool:
        """Start a job; True if it was due and not started yet."""
        due = last_slot(run.schedule, self._clock.now())
        at = 0 if due is None else round(due.timestamp()) * MICROSECONDS
        if not max(document.updated_at, self._clock.now() - MISSED) < at:
            return False
        operation_id = str(uuid.uuid5(_SLOTS, f"{document.workspace_id}/{run.name}/{at}"))
        if await self._operations.operation(document.workspace_id, operation_id) is not None:
            return False
        operation = Operation(
            id=operation_id,
            workspace_id=document.workspace_id,
            kind=run.kind,
            actor=f"policy {run.name}",
            request={**run.request, "policy": run.name},
        )
        await self._operations.start_operation(operation)
        _log.info("policy.started", workspace=document.workspace_id, policy=run.name, operation=operation_id)
        return True
