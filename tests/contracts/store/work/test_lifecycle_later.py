"""Contract of `ports.lifecycle`: what happens between a change and its repetition, its undo or a look at the past."""

from collections.abc import Sequence

from sqlalchemy import update

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.schema.lifecycle_tables import operation_changes
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.access.visibility import Criteria, everything
from openbrain.domain.ids import uuid7
from openbrain.domain.memory import DAY
from openbrain.ports.lifecycle import UNDO, Action, Change, Subject, Undone, Use
from openbrain.ports.store.memories import RecallRecord
from openbrain.ports.store.writes import Edit
from tests.contracts.store.work.test_lifecycle import all_undone, archive_all, running, selected
from tests.support.store.fixtures import FakeClock, origin, row, rows, stored, viewer


def keep_first(subjects: Sequence[Subject]) -> Sequence[Change]:
    """Of duplicates keep the first, with the latest confirmation and the counts of all."""
    (first, use), *rest = subjects
    after = first._replace(confirmed_at=max(memory.confirmed_at for memory, _ in subjects))
    joined = use._replace(recalls=use.recalls + 5, used=use.used + 2)
    return [
        Change(memory_id=first.id, action=Action.REWRITTEN, why="stands for more", after=after, use=joined),
        *(Change(memory_id=each.id, action=Action.ARCHIVED, why="the same", into=first.id) for each, _ in rest),
    ]


def tagged(subjects: Sequence[Subject]) -> Sequence[Change]:
    """Add one tag."""
    memory = subjects[0].memory
    after = memory._replace(tags=(*memory.tags, f"t{len(memory.tags)}"))
    return [Change(memory_id=memory.id, action=Action.REWRITTEN, why="tagged", after=after)]


async def recalled(store: SqlStore, clock: FakeClock, memory_id: str) -> None:
    answered = RecallRecord(
        id=uuid7(clock.now()),
        workspace_id="w1",
        agent_id="ada",
        query="",
        results=((memory_id, 1.0),),
        took_ms=1.0,
        at=clock.now(),
    )
    await store.memories.record_recalls([answered])


async def used(database: Database, memory_id: str) -> Use:
    columns = "recall_count AS recalls, last_recalled_at, used, ignored"
    (found,) = await rows(database, f"SELECT {columns} FROM memory_usage WHERE memory_id = :id", id=memory_id)
    return Use(**found)


async def test_the_past_still_has_what_only_got_the_counts_of_others(store: SqlStore, clock: FakeClock) -> None:
    ids = [(await stored(store.writes, text)).id for text in ("one", "two")]
    before = clock.now()
    clock.advance(DAY)
    operation = await running(store, clock)

    await store.lifecycle.apply(operation, selected(clock), ids, keep_first)
    after_it = await store.past.past(everything("w1", Criteria()), before, 9)
    clock.advance(DAY)
    await all_undone(store, await running(store, clock, UNDO), operation)
    after_its_undo = await store.past.past(everything("w1", Criteria()), before, 9)

    assert {each.id for each in after_it} == {each.id for each in after_its_undo} == set(ids)


async def test_an_undo_keeps_confirmations_and_counts_since(
    store: SqlStore, database: Database, clock: FakeClock
) -> None:
    one = await stored(store.writes, "one")
    await recalled(store, clock, one.id)
    clock.advance(DAY)
    two = await stored(store.writes, "two", now=clock.now())
    operation = await running(store, clock)
    await store.lifecycle.apply(operation, selected(clock), [one.id, two.id], keep_first)
    assert await used(database, one.id) == Use(6, one.created_at, 2, 0)
    assert (await row(database, one.id)).confirmed_at == two.confirmed_at
    clock.advance(DAY)
    await store.writes.update(Edit(memory_id=one.id, viewer=viewer(), origin=origin(), confirm=True))
    await recalled(store, clock, one.id)
    since = clock.now()

    await all_undone(store, await running(store, clock, UNDO), operation)

    assert await store.lifecycle.undone(operation.id) == {Undone.UNDONE: 2}
    assert (await row(database, one.id)).confirmed_at == since
    assert await used(database, one.id) == Use(2, since, 0, 0)


async def test_an_undo_of_a_change_without_the_counts_it_made_puts_back_those_before(
    store: SqlStore, database: Database, clock: FakeClock
) -> None:
    ids = [(await stored(store.writes, text)).id for text in ("one", "two")]
    operation = await running(store, clock)
    await store.lifecycle.apply(operation, selected(clock), ids, keep_first)
    older = update(operation_changes).where(operation_changes.c.into_id.is_(None))
    kept = {"before": '{"columns": {}, "use": [0, null, 0, 0]}'}
    await database.write(lambda connection: connection.execute(older.values(kept)))

    await all_undone(store, await running(store, clock, UNDO), operation)

    assert await used(database, ids[0]) == Use()


async def test_a_repeated_step_leaves_what_was_restored_meanwhile(
    store: SqlStore, database: Database, clock: FakeClock
) -> None:
    ids = [(await stored(store.writes, text)).id for text in ("one", "two")]
    operation, selection = await running(store, clock), selected(clock)
    await store.lifecycle.apply(operation, selection, ids, archive_all)
    clock.advance(1)
    await store.writes.restore(ids[0], viewer(), origin(), "needed")

    again = await store.lifecycle.apply(operation, selection, ids, archive_all)

    assert again.changes == []
    assert [(await row(database, each)).reason for each in ids] == [None, "archived"]
    assert await store.lifecycle.counts(operation.id) == {Action.ARCHIVED: 2}


async def test_operations_are_undone_one_after_the_other_the_last_one_first(
    store: SqlStore, database: Database, clock: FakeClock
) -> None:
    one = await stored(store.writes, "one")

    operations = [await running(store, clock) for _ in range(3)]
    for operation in operations:
        await store.lifecycle.apply(operation, selected(clock), [one.id], tagged)
    assert (await row(database, one.id)).tags == ("t0", "t1", "t2")

    for operation in reversed(operations):
        await all_undone(store, await running(store, clock, UNDO), operation)
        assert await store.lifecycle.undone(operation.id) == {Undone.UNDONE: 1}

    assert (await row(database, one.id)).tags == ()


async def test_an_earlier_operation_stays_when_somebody_changed_it_before_the_later_one(
    store: SqlStore, database: Database, clock: FakeClock
) -> None:
    one = await stored(store.writes, "one")

    earlier = await running(store, clock)
    await store.lifecycle.apply(earlier, selected(clock), [one.id], tagged)
    clock.advance(1)
    await store.writes.update(Edit(memory_id=one.id, viewer=viewer(), origin=origin(), content="mine"))
    later = await running(store, clock)
    await store.lifecycle.apply(later, selected(clock), [one.id], tagged)

    for operation in (later, earlier):
        await all_undone(store, await running(store, clock, UNDO), operation)

    assert await store.lifecycle.undone(earlier.id) == {Undone.CHANGED: 1}
    assert ((await row(database, one.id)).content, (await row(database, one.id)).tags) == ("mine", ("t0",))
