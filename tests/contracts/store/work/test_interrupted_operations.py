"""Operations that are cancelled or killed between a change and its record: what they say, and leave to a purge."""

from collections.abc import Sequence
from typing import Any

import pytest

from openbrain.adapters.sql.store import SqlStore
from openbrain.contract.admin.lifecycle import PruneBody
from openbrain.domain.access.visibility import Criteria
from openbrain.domain.ids import uuid7
from openbrain.domain.memory import HALF_LIFE_DAYS
from openbrain.ports.cleaning import Party
from openbrain.ports.lifecycle import CLEAN, PRUNE, UNDO, Action
from openbrain.ports.store.memories import RecallRecord
from openbrain.ports.store.operations import TRACES, Operation, Progress
from openbrain.ports.store.writes import FORGET, PURGE
from openbrain.usecases import stored_criteria
from openbrain.usecases.content.cleaning import Stripping
from openbrain_housekeeper.handlers.forget import Forgetting
from openbrain_housekeeper.handlers.lifecycle.clean import Cleaning
from openbrain_housekeeper.handlers.lifecycle.job import PAGE, LifecycleStep, RowByRow
from openbrain_housekeeper.handlers.lifecycle.prune import prune
from openbrain_housekeeper.handlers.lifecycle.undo import Undoing
from openbrain_housekeeper.jobs.operations import Step, Worker
from tests.contracts.store.work.test_cleaning import MAIL, STRIPPING
from tests.contracts.store.work.test_lifecycle import archive_all, running, selected
from tests.support.store.fixtures import FakeClock, age_holds, stored, viewer
from tests.support.store.no_streams import NoStreams

EVERYTHING: dict[str, Any] = {"rule": {}, "criteria": {}, "older_than": 0, "dry_run": False}


class Cancelling:
    """A step that is cancelled after it was done `after` times, while its worker goes on."""

    def __init__(self, store: SqlStore, step: Step, after: int) -> None:
        self._store, self._step, self._left = store, step, after

    async def __call__(self, operation: Operation) -> Progress:
        if not self._left:
            await self._store.operations.cancel_operation(operation.workspace_id, operation.id)
        self._left -= 1
        return await self._step(operation)


async def ended(store: SqlStore, operation: Operation, step: Step, after: int) -> Operation:
    worker = Worker(store.operations, {operation.kind: Cancelling(store, step, after)}, "me", pace_s=60)
    await worker.round()
    await age_holds(store, 2)
    await worker.round()
    after_it = await store.operations.operation("w1", operation.id)
    assert after_it is not None
    return after_it


async def repeated(store: SqlStore, operation: Operation, step: Step) -> Operation:
    """The operation, done by workers that are killed before they record a step."""

    async def twice(operation: Operation) -> Progress:
        await step(operation)
        return await step(operation)

    worker = Worker(store.operations, {operation.kind: twice}, "me", pace_s=0)
    while await worker.round():
        pass
    after = await store.operations.operation("w1", operation.id)
    assert after is not None
    return after


def cleaning(store: SqlStore, clock: FakeClock) -> Cleaning:
    async def rules(_operation: Operation) -> Sequence[Stripping]:
        return [STRIPPING]

    parts = (store.cleansing, store.lifecycle, store.operations, store.outbox, clock, NoStreams())
    return Cleaning(*parts, rules, lambda _workspace: None)


async def asked(store: SqlStore, clock: FakeClock, query: str) -> None:
    question = RecallRecord(
        id=uuid7(clock.now()),
        workspace_id="w1",
        agent_id="ada",
        query=query,
        results=(),
        took_ms=1.0,
        at=clock.now(),
    )
    await store.memories.record_recalls([question])


async def test_a_job(store: SqlStore, clock: FakeClock) -> None:
    for number in range(PAGE + 1):
        await stored(store.writes, f"number {number}")
    body = PruneBody(older_than_days=0, max_confidence=1.0, dry_run=False)
    operation = await running(store, clock, PRUNE, **body.request("w1", clock.now()))
    rule = RowByRow(store.lifecycle, lambda operation: prune(operation, HALF_LIFE_DAYS))

    after = await ended(
        store, operation, LifecycleStep(rule, store.lifecycle, store.operations, store.outbox, clock), 1
    )

    assert (after.status, after.done, after.total) == ("cancelled", PAGE, PAGE + 1)
    assert await store.lifecycle.counts(operation.id) == {Action.ARCHIVED: PAGE}


async def test_an_undo(store: SqlStore, clock: FakeClock) -> None:
    one = await stored(store.writes, "one")
    operation = await running(store, clock)
    await store.lifecycle.apply(operation, selected(clock), [one.id], archive_all)
    undoing = await running(store, clock, UNDO, operation=operation.id)

    after = await ended(store, undoing, Undoing(store.lifecycle, store.operations, store.outbox, clock), 0)

    assert after.status == "cancelled"
    assert await store.lifecycle.undone(operation.id) == {}


@pytest.mark.parametrize("after", [0, 1, 2, 3])
async def test_a_clean(store: SqlStore, clock: FakeClock, after: int) -> None:
    one = await stored(store.writes, f"ask {MAIL}")
    operation = await running(store, clock, CLEAN, **EVERYTHING)

    done = await ended(store, operation, cleaning(store, clock), after)

    assert done.status == "cancelled"
    assert (MAIL in (await store.memories.rows([one.id]))[one.id].content) is (after == 0)


async def test_an_erasure_with_texts_beside_memories(store: SqlStore, clock: FakeClock) -> None:
    criteria = stored_criteria.kept(viewer(), Criteria(says=MAIL), whole=True)
    request = {"made_by": clock.now(), "erase": True, "reason": "", TRACES: criteria}
    operation = await running(store, clock, FORGET, **request)

    after = await ended(store, operation, Forgetting(store, clock), 0)

    assert after.status == "cancelled"
    assert "beside" not in after.result


async def test_a_clean_killed_before_its_record_counts_and_purges_what_it_had_cleaned_beside_memories(
    store: SqlStore, clock: FakeClock
) -> None:
    await asked(store, clock, f"is it {MAIL}?")
    operation = await running(store, clock, CLEAN, **EVERYTHING)

    after = await repeated(store, operation, cleaning(store, clock))

    assert (after.status, after.result["others"]) == ("done", 1)
    assert len(await store.operations.operations("w1", 9, kinds=[PURGE])) == 1


async def test_an_erasure_killed_before_its_record_counts_what_it_had_struck_out(
    store: SqlStore, clock: FakeClock
) -> None:
    await asked(store, clock, f"is it {MAIL}?")
    criteria = stored_criteria.kept(viewer(), Criteria(says=MAIL), whole=True)
    request = {"made_by": clock.now(), "erase": True, "reason": "", TRACES: criteria}
    operation = await running(store, clock, FORGET, **request)

    after = await repeated(store, operation, Forgetting(store, clock))

    assert (after.status, after.result) == ("done", {"erased": 0, "beside": 1})
    assert await store.cleansing.count_beside("w1", Party(says=MAIL)) == 0
