"""Closing a tenant waits for the rest of its erasures."""

from dataclasses import replace

from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.ids import uuid7
from openbrain.ports.store.operations import Operation, OperationStatus, Progress
from openbrain.ports.store.tenants import CLOSE, Workspace
from openbrain.ports.store.writes import PURGE
from openbrain_housekeeper.handlers.close_workspace import Closing
from tests.support.store.fixtures import START, FakeClock
from tests.support.store.no_streams import NoStreams


async def walked(closing: Closing, operation: Operation) -> tuple[Operation, Progress]:
    """Run steps until the operation waits or is finished."""
    while True:
        step = await closing(operation)
        operation = replace(operation, done=step.done, total=step.total, result=step.result)
        if step.waits or step.finished:
            return operation, step


async def test_its_purges_end_before_their_rows_go(store: SqlStore, clock: FakeClock) -> None:
    """Only the purges know the vectors and stream entries of what was erased."""
    await store.workspaces.create_workspace(Workspace(id="w1", name="w1", created_at=START))
    purge = await store.operations.start_operation(
        Operation(id=uuid7(START), workspace_id="w1", kind=PURGE, actor="ada")
    )
    asked = Operation(id=uuid7(START), workspace_id="system", kind=CLOSE, actor="op", request={"workspace": "w1"})
    closing = Closing(store, NoStreams(), clock, settle_s=0)

    operation, step = await walked(closing, await store.workspaces.close_workspace("w1", asked))
    assert step.waits
    assert await store.operations.operation("w1", purge.id) is not None
    assert await store.workspaces.workspace_counts("w1")

    await store.operations.hold_operation("me", 15, [PURGE])
    await store.operations.end_operation(purge.id, "me", OperationStatus.DONE)
    operation, step = await walked(closing, operation)

    assert step.finished
    assert operation.result["rows"]["operations"] == 1
    assert await store.operations.operation("w1", purge.id) is None
