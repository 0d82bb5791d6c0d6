"""The end of a tenant waits for what its erasures have left to do."""

from dataclasses import replace

from openbrain.adapters.sql.store import SqlTruth
from openbrain.domain.ids import uuid7
from openbrain.ports.access import Workspace
from openbrain.ports.erasing import CLOSE, PURGE, Doomed, Swept
from openbrain.ports.operations import Operation, OperationStatus, Progress
from openbrain_housekeeper.handlers.close_workspace import Closing
from tests.support.store.fixtures import START, FakeClock


class NoStreams:
    """A stream server that holds nothing."""

    async def sweep(self, doomed: Doomed) -> Swept:
        return Swept(0)

    async def drop(self, workspace_id: str) -> int:
        return 0


async def walked(closing: Closing, operation: Operation) -> tuple[Operation, Progress]:
    """Step by step, until it waits or is done."""
    while True:
        step = await closing(operation)
        operation = replace(operation, done=step.done, total=step.total, result=step.result)
        if step.waits or step.finished:
            return operation, step


async def test_its_purges_end_before_their_rows_go(truth: SqlTruth, clock: FakeClock) -> None:
    """They alone know the vectors and stream entries of what was erased."""
    await truth.create_workspace(Workspace(id="w1", name="w1", created_at=START))
    purge = await truth.start_operation(Operation(id=uuid7(START), workspace_id="w1", kind=PURGE, actor="ada"))
    asked = Operation(id=uuid7(START), workspace_id="system", kind=CLOSE, actor="op", request={"workspace": "w1"})
    closing = Closing(truth, NoStreams(), clock, settle_s=0)

    operation, step = await walked(closing, await truth.close_workspace("w1", asked))
    assert step.waits
    assert await truth.operation("w1", purge.id) is not None
    assert await truth.workspace_counts("w1")

    await truth.hold_operation("me", 15, [PURGE])
    await truth.end_operation(purge.id, "me", OperationStatus.DONE)
    operation, step = await walked(closing, operation)

    assert step.finished
    assert operation.result["rows"]["operations"] == 1
    assert await truth.operation("w1", purge.id) is None
