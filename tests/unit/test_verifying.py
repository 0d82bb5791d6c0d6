"""A verification that is cancelled leaves nothing in the process that ran it."""

from pathlib import Path

import pytest

from openbrain.adapters.sql.database import Database
from openbrain.adapters.sql.truth import SqlTruth
from openbrain.adapters.tantivy_text import TantivyText
from openbrain.ids import uuid7
from openbrain.memory import MICROSECONDS
from openbrain.ports.generations import Generation, GenerationStatus, IndexKind
from openbrain.ports.operations import Operation, OperationStatus
from openbrain.ports.reconciling import VERIFY
from openbrain_housekeeper.comparing import Asked
from openbrain_housekeeper.gate import Gate
from openbrain_housekeeper.operating import Worker
from openbrain_housekeeper.verifying import Verifier, Verifying
from tests.support.embedder.handler import database, truth
from tests.support.store.direct_rows import put
from tests.support.store.fixtures import FakeClock, age_holds, clock, memory

__all__ = ["clock", "database", "truth"]


async def nothing_waits() -> None:
    return None


@pytest.mark.parametrize("restored", [False, True])
async def test_what_is_cancelled_in_the_middle_is_forgotten(
    truth: SqlTruth, database: Database, clock: FakeClock, tmp_path: Path, *, restored: bool
) -> None:
    index = TantivyText(tmp_path / "text", commit_ms=1)
    serving = Generation(
        kind=IndexKind.TEXT,
        name="t-1",
        model="",
        dimensions=0,
        builder=index.builder,
        status=GenerationStatus.SERVING,
    )
    await truth.ensure(serving)
    await index.prepare("t-1")
    await put(database, *(memory(each) for each in "abc"))
    clock.advance(600 * MICROSECONDS)
    gate = Gate(truth, {IndexKind.TEXT: nothing_waits}, clock)
    verifying = Verifying(Verifier(truth, {IndexKind.TEXT: lambda: index}, gate, clock, Asked()))
    worker = Worker(truth, {VERIFY: verifying}, "one", undo={VERIFY: verifying.undo}, pace_s=0)
    request = {"full": True, "repair": restored, "restored": restored}
    asked = Operation(id=uuid7(clock.now()), workspace_id="o", kind=VERIFY, actor="ada", request=request)
    await truth.start_operation(asked)

    await worker.round()
    assert verifying._runs or verifying._lifts
    await truth.cancel_operation("o", asked.id)
    await age_holds(truth, 2)
    await worker.round()

    ended = await truth.operation("o", asked.id)
    assert ended is not None
    assert ended.status is OperationStatus.CANCELLED
    assert not verifying._runs
    assert not verifying._lifts
    await index.close()
