"""Contract of `ports.retention` and of the housekeeper's job that uses it, on every database."""

from collections.abc import Sequence
from typing import Any

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.access.visibility import Criteria, everything
from openbrain.domain.ids import uuid7
from openbrain.domain.memory import DAY, Reason
from openbrain.ports.lifecycle import Action, Change, PolicyDocument, Subject
from openbrain.ports.store.memories import RecallRecord
from openbrain.ports.store.operations import Operation, OperationStatus
from openbrain.ports.store.transfer import HistoryRow
from openbrain.ports.store.writes import PURGE, Edit
from openbrain_housekeeper.jobs.retention import RetentionJob
from tests.contracts.store.work.test_lifecycle import running, selected
from tests.support.store.fixtures import FakeClock, origin, row, rows, stored, viewer

ADA = viewer(), origin()
TRIAL = Criteria(project="trial", only_project=True)


async def decided(store: SqlStore, workspace: str = "w1", *holds: Criteria, **days: int) -> None:
    await store.policies.set_document(PolicyDocument(workspace_id=workspace, given={}, retention=days, holds=holds))


async def changed(store: SqlStore, memory_id: str, content: str) -> None:
    await store.writes.update(Edit(memory_id=memory_id, viewer=viewer(), origin=origin(), content=content))


class Store:
    """The store, with the test's clock in place of the database's."""

    def __init__(self, store: SqlStore, clock: FakeClock) -> None:
        self._store, self._clock = store, clock

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def time(self) -> int:
        return self._clock.now()


async def kept_to(store: SqlStore, clock: FakeClock, limit: int = 500) -> None:
    """Run the job until nothing is due any more."""
    job = RetentionJob(Store(store, clock), limit)
    for _ in range(20):
        if not await job.round():
            return
    raise AssertionError("it does not end")


async def test_what_was_forgotten_leaves_after_its_days_and_a_proof_stays(
    store: SqlStore, database: Database, clock: FakeClock
) -> None:
    old, held, foreign, living = [
        await stored(store.writes, text, **more)
        for text, more in (
            ("old", {}),
            ("held", {"project": "trial"}),
            ("foreign", {"workspace_id": "w2", "viewer": viewer("w2")}),
            ("living", {}),
        )
    ]
    await store.writes.forget(old.id, *ADA, "")
    await store.writes.forget(held.id, *ADA, "")
    await store.writes.forget(foreign.id, viewer("w2"), origin(), "")
    await decided(store, "w1", TRIAL, forgotten_days=30)
    clock.advance(30 * DAY)
    await kept_to(store, clock)
    assert (await row(database, old.id)).content == "old"
    clock.advance(1)

    await kept_to(store, clock)

    proof = await row(database, old.id)
    assert (proof.content, proof.reason, proof.workspace_id) == ("", "erased", "w1")
    assert [(await row(database, each.id)).content for each in (held, foreign, living)] == ["held", "foreign", "living"]
    line = (await store.memories.history(old.id))[-1]
    assert (line.action, line.actor, line.reason) == ("erased", "retention", "its days of retention are over")
    purges = await store.operations.operations("w1", 9, kinds=[PURGE])
    assert [each.request["ids"] for each in purges] == [[old.id]]

    await decided(store, "w1", forgotten_days=30)
    await kept_to(store, clock)
    assert (await row(database, held.id)).reason == "erased"


async def test_each_ending_has_its_own_days(store: SqlStore, database: Database, clock: FakeClock) -> None:
    due = await stored(store.writes, "due", expires_at=clock.now() + 1)
    forgotten = await stored(store.writes, "forgotten")
    await store.writes.forget(forgotten.id, *ADA, "")
    clock.advance(1)
    await store.writes.expire_due(9, clock.now())
    await decided(store, expired_days=1)
    clock.advance(DAY + 1)

    await kept_to(store, clock)

    assert [(await row(database, each.id)).reason for each in (due, forgotten)] == [Reason.ERASED, Reason.FORGOTTEN]


async def test_the_audit_keeps_who_and_when_and_no_more_what(
    store: SqlStore, database: Database, clock: FakeClock
) -> None:
    one, held = await stored(store.writes, "one"), await stored(store.writes, "held", project="trial")
    foreign = await stored(store.writes, "foreign", workspace_id="w2", viewer=viewer("w2"))
    for each in (one, held):
        clock.advance(DAY)
        await store.writes.update(
            Edit(memory_id=each.id, viewer=viewer(), origin=origin(), content="new " + each.content)
        )
    asked_of = clock.now() - 2 * DAY
    await decided(store, "w1", TRIAL, history_days=10)
    clock.advance(9 * DAY)
    await changed(store, one.id, "newest")
    clock.advance(DAY + 1)

    await kept_to(store, clock, limit=2)

    lines = await store.memories.history(one.id)
    assert [(line.action, line.before, line.after) for line in lines[:2]] == [
        ("created", None, None),
        ("updated", None, None),
    ]
    assert (lines[2].before, [line.actor for line in lines]) == ({"content": "new one"}, ["ada"] * 3)
    for each in (held, foreign):
        assert (await store.memories.history(each.id))[0].after is not None
    past = await store.past.past(everything("w1", Criteria()), asked_of, 9)
    assert [each.content for each in past] == ["held"], "the earlier text of the other is no longer known"


async def test_the_audit_of_what_is_no_longer_held_follows_within_a_day(
    store: SqlStore, database: Database, clock: FakeClock
) -> None:
    one = await stored(store.writes, "one", project="trial")
    await decided(store, "w1", TRIAL, history_days=10)
    job = RetentionJob(Store(store, clock), 500)
    clock.advance(11 * DAY)
    while await job.round():
        pass
    await store.writes.update(Edit(memory_id=one.id, viewer=viewer(), origin=origin(), project="shop"))
    clock.advance(DAY)

    while await job.round():
        pass

    assert (await store.memories.history(one.id))[0].after is None


async def test_what_undoes_a_change_keeps_no_text_for_longer_than_the_audit(
    store: SqlStore, database: Database, clock: FakeClock
) -> None:
    texts: list[dict[str, Any]] = [{"content": "one"}, {"content": "held", "project": "trial"}, {"content": "gone"}]
    one, held, gone = [await stored(store.writes, **each) for each in texts]
    operation = await running(store, clock)

    def decide(subjects: Sequence[Subject]) -> Sequence[Change]:
        named = {each.memory.content: each.memory for each in subjects}
        gone = Change(memory_id=named.pop("gone").id, action=Action.ARCHIVED, why="old")
        new = [each._replace(content=f"new {each.content}") for each in named.values()]
        return [gone, *(Change(memory_id=each.id, action=Action.REWRITTEN, why="", after=each) for each in new)]

    await store.lifecycle.apply(operation, selected(clock), [one.id, held.id, gone.id], decide)
    await decided(store, "w1", TRIAL, history_days=10)
    clock.advance(10 * DAY)
    await kept_to(store, clock)
    assert len(await store.lifecycle.first(operation.id, 9)) == 3
    clock.advance(1)

    await kept_to(store, clock)

    assert {each.memory_id for each in await store.lifecycle.first(operation.id, 9)} == {held.id, gone.id}
    assert '"one"' not in repr(await rows(database, "SELECT * FROM operation_changes"))


async def test_an_imported_line_of_a_future_time_holds_up_no_other_audit(store: SqlStore, clock: FakeClock) -> None:
    foreign = await stored(store.writes, "foreign", workspace_id="w2", viewer=viewer("w2"))
    line = HistoryRow(
        memory_id=foreign.id,
        version=1,
        revision=1,
        action="updated",
        actor="ada",
        at=clock.now() + 9999 * DAY,
        before=None,
        after='{"content":"later"}',
        note="",
    )
    await store.transfer.load("w2", [line])
    one = await stored(store.writes, "one")
    await decided(store, "w1", history_days=10)
    clock.advance(10 * DAY + 1)

    await kept_to(store, clock)

    assert [each.after for each in await store.memories.history(one.id)] == [None]
    assert [each.after for each in await store.memories.history(foreign.id)][1] == {"content": "later"}


async def test_recalls_and_operations_leave_but_where_something_is_held(
    store: SqlStore, database: Database, clock: FakeClock
) -> None:
    made = []
    for workspace in ("w1", "w2", "w3"):
        recall = RecallRecord(
            id=uuid7(clock.now()),
            workspace_id=workspace,
            agent_id="ada",
            query="",
            results=(),
            took_ms=1.0,
            at=clock.now(),
        )
        asked = Operation(id=uuid7(clock.now()), workspace_id=workspace, kind="count", actor="ada")
        await store.memories.record_recalls([recall])
        await store.operations.start_operation(asked)
        held = await store.operations.hold_operation("me", 30, {"count"})
        assert held is not None
        await store.operations.end_operation(held.id, "me", OperationStatus.FAILED)
        made.append(recall.id)
    await decided(store, "w1", recall_days=1, operation_days=1)
    await decided(store, "w2", TRIAL, recall_days=1, operation_days=1)
    clock.advance(DAY + 1)

    await kept_to(store, clock)
    left = await rows(database, "SELECT workspace_id FROM recalls UNION ALL SELECT workspace_id FROM operations")
    assert sorted(each["workspace_id"] for each in left) == ["w2", "w2", "w3", "w3"]

    assert await store.memories.purge_recalls(clock.now(), 9) == 1
    assert await store.operations.purge_operations(clock.now(), 9) == 1
    left = await rows(database, "SELECT workspace_id FROM recalls UNION ALL SELECT workspace_id FROM operations")
    assert [each["workspace_id"] for each in left] == ["w2", "w2"]
