"""Contract of `ports.lifecycle`, on every database."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.access.visibility import Criteria
from openbrain.domain.errors import Outdated
from openbrain.domain.ids import uuid7
from openbrain.domain.memory import DAY, Memory, MemoryType
from openbrain.ports.lifecycle import (
    NO_EDITION,
    PRUNE,
    UNDO,
    Action,
    Change,
    PolicyDocument,
    Run,
    Selection,
    Subject,
    Undone,
    Use,
)
from openbrain.ports.store.operations import Operation, OperationStatus
from openbrain.ports.store.tenants import Workspace
from openbrain.ports.store.writes import Edit, Outcome, Status
from tests.support.store.fixtures import FakeClock, announced, origin, row, rows, stored, viewer, write


async def running(store: SqlStore, clock: FakeClock, kind: str = PRUNE, **request: Any) -> Operation:
    clock.advance(1000)
    asked = Operation(id=uuid7(clock.now()), workspace_id="w1", kind=kind, actor="ada", request=request)
    return await store.operations.start_operation(asked)


def selected(clock: FakeClock, **criteria: Any) -> Selection:
    return Selection(workspace_id="w1", criteria=Criteria(**criteria), at=clock.now(), made_by=clock.now())


def archive_all(subjects: Sequence[Subject]) -> Sequence[Change]:
    return [Change(memory_id=each.memory.id, action=Action.ARCHIVED, why="old") for each in subjects]


async def all_undone(store: SqlStore, undoing: Operation, of: Operation) -> None:
    place = await store.lifecycle.undo(undoing, of.id, 9)
    while place is not None:
        place = await store.lifecycle.undo(undoing, of.id, 9, place)


async def whole(database: Database, memory_id: str) -> dict[str, Any]:
    """The row with its duplicate key and its usage, without columns that rise with every write."""
    (found,) = await rows(database, "SELECT * FROM memories WHERE id = :id", id=memory_id)
    use = await rows(database, "SELECT * FROM memory_usage WHERE memory_id = :id", id=memory_id)
    return {name: value for name, value in found.items() if name not in ("revision", "updated_at")} | {"use": use}


async def test_what_is_decided_is_what_is_done_told_and_undone(
    store: SqlStore, database: Database, clock: FakeClock
) -> None:
    kept, one, two = [await stored(store.writes, f"number {number}", tags=(f"t{number}",)) for number in range(3)]
    ids, before = [one.id, two.id], await whole(database, one.id)
    operation, selection = await running(store, clock), selected(clock)

    (looked_at,) = await store.lifecycle.look(selection, [ids], archive_all)
    untouched = await row(database, one.id)
    done = await store.lifecycle.apply(operation, selection, ids, archive_all)
    again = await store.lifecycle.apply(operation, selection, ids, archive_all)
    archived = await row(database, one.id)

    assert untouched == one
    assert looked_at == done
    assert [change.memory_id for change in done.changes] == ids
    assert again.changes == []
    assert (archived.reason, archived.archived_at, archived.deleted_at) == ("archived", clock.now(), None)
    assert archived.version == one.version
    assert archived.state(clock.now()) == "archived"
    assert await store.lifecycle.counts(operation.id) == {Action.ARCHIVED: 2}
    assert [change.memory_id for change in await store.lifecycle.first(operation.id, 9)] == ids
    assert [each.memory.id for each in await store.lifecycle.page(selection, 9, None)] == [kept.id]
    line = (await store.memories.history(one.id))[-1]
    assert (line.action, line.reason, line.actor) == ("archived", f"prune {operation.id}: old", "ada")
    event = (await announced(database))[-1]
    assert (event["stream"], event["reason"], event["causationid"]) == ("memory.superseded", "archived", operation.id)

    undoing = await running(store, clock, UNDO)
    place = await store.lifecycle.undo(undoing, operation.id, 1)
    assert place == (Action.ARCHIVED, "")
    assert await store.lifecycle.undo(undoing, operation.id, 1, place) == (Action.ARCHIVED, min(ids))
    assert await store.lifecycle.undone(operation.id) == {Undone.UNDONE: 1}
    await all_undone(store, undoing, operation)

    assert await store.lifecycle.undone(operation.id) == {Undone.UNDONE: 2}
    assert await whole(database, one.id) == before
    assert (await row(database, one.id)).revision > archived.revision
    last = (await store.memories.history(one.id))[-1]
    assert (last.action, last.reason) == ("restored", f"undo {undoing.id}: old")
    assert (await announced(database))[-1]["change"] == "restored"


async def test_one_stands_for_others_and_all_come_back(store: SqlStore, database: Database, clock: FakeClock) -> None:
    best, other = await stored(store.writes, "tests run nightly"), await stored(store.writes, "tests run every night")
    before = await whole(database, best.id), await whole(database, other.id)
    operation, selection = await running(store, clock), selected(clock)

    def merge(subjects: Sequence[Subject]) -> Sequence[Change]:
        first, rest = subjects[0].memory, subjects[1:]
        text = subjects[-1].memory.content  # so that it can't be remembered again before this is undone
        after = first._replace(content=text, tags=("joined",), workspace_id="elsewhere")
        return [
            *(Change(memory_id=each.memory.id, action=Action.ARCHIVED, why="the same", into=first.id) for each in rest),
            Change(memory_id=first.id, action=Action.REWRITTEN, why="joined", after=after, use=Use(7, None, 2, 1)),
        ]

    done = await store.lifecycle.apply(operation, selection, [best.id, other.id], merge)
    now = await row(database, best.id)

    assert [change.action for change in done.changes] == [Action.REWRITTEN, Action.ARCHIVED]
    assert (now.content, now.tags, now.workspace_id) == (other.content, ("joined",), "w1")
    assert (now.version, now.revision > best.revision) == (2, True)
    assert (await store.memories.ancestry(best.id, 9)).parents == (other.id,)
    assert await rows(database, "SELECT recall_count, used, ignored FROM memory_usage") == [
        {"recall_count": 7, "used": 2, "ignored": 1}
    ]

    undoing = await running(store, clock, UNDO)
    await all_undone(store, undoing, operation)

    back = await whole(database, best.id)
    assert await store.lifecycle.undone(operation.id) == {Undone.UNDONE: 2}
    assert back.pop("use")[0]["recall_count"] == 0
    assert {**back, "version": 1} == {name: value for name, value in before[0].items() if name != "use"}
    assert await whole(database, other.id) == before[1]
    assert (await store.memories.ancestry(best.id, 9)).parents == ()


async def test_what_is_said_again_is_told_of_what_stands_for_it(store: SqlStore, clock: FakeClock) -> None:
    best, other = await stored(store.writes, "tests run nightly"), await stored(store.writes, "tests run every night")
    operation = await running(store, clock)

    def behind(subjects: Sequence[Subject]) -> Sequence[Change]:
        return [Change(memory_id=other.id, action=Action.ARCHIVED, why="the same", into=best.id)]

    async def again() -> Outcome:
        (outcome,) = await store.writes.remember([write(other.content, now=clock.now())])
        return outcome

    await store.lifecycle.apply(operation, selected(clock), [best.id, other.id], behind)
    clock.advance(1000)
    known = await again()
    apart = await stored(store.writes, other.content, project="elsewhere")
    clock.advance(1000)
    await store.writes.update(Edit(memory_id=best.id, viewer=viewer(), origin=origin(), content="tests run weekly"))
    clock.advance(1000)
    new = await again()
    await all_undone(store, await running(store, clock, UNDO), operation)

    assert (known.status, known.memory and known.memory.id) == (Status.DUPLICATE, best.id)
    assert apart.id not in {best.id, other.id}
    assert new.status is Status.CREATED, "the memory that replaced it has another text by now"
    assert await store.lifecycle.undone(operation.id) == {Undone.TAKEN: 1}
    assert (await again()).status is Status.DUPLICATE


async def test_what_can_not_be_rewritten_keeps_what_it_would_have_stood_for(
    store: SqlStore, database: Database, clock: FakeClock
) -> None:
    one, two, taken = [await stored(store.writes, text) for text in ("one", "two", "taken")]
    operation = await running(store, clock)

    def collide(subjects: Sequence[Subject]) -> Sequence[Change]:
        after = subjects[0].memory._replace(content=taken.content)
        return [
            Change(memory_id=one.id, action=Action.REWRITTEN, why="joined", after=after),
            Change(memory_id=two.id, action=Action.ARCHIVED, why="the same", into=one.id),
        ]

    done = await store.lifecycle.apply(operation, selected(clock), [one.id, two.id], collide)

    assert done.changes == []
    assert [await row(database, each.id) for each in (one, two)] == [one, two]
    assert len(await store.memories.history(one.id)) == 1


async def test_nothing_but_what_is_selected_is_touched(store: SqlStore, database: Database, clock: FakeClock) -> None:
    old = await stored(store.writes, "old", project="shop")
    foreign = await stored(store.writes, "foreign", project="shop", workspace_id="w2", viewer=viewer("w2"))
    elsewhere = await stored(store.writes, "elsewhere", project="web")
    due = await stored(store.writes, "due", project="shop", expires_at=clock.now() + DAY)
    clock.advance(2 * DAY)
    young = await stored(store.writes, "young", project="shop", now=clock.now())
    ids = [each.id for each in (old, foreign, elsewhere, due, young)]
    operation = await running(store, clock)
    selection = replace(selected(clock, project="shop", only_project=True), made_by=clock.now() - DAY)

    done = await store.lifecycle.apply(operation, selection, ids, archive_all)

    assert await store.lifecycle.count(selection) == 0
    assert [change.memory_id for change in done.changes] == [old.id]
    assert [(await row(database, each)).reason for each in ids] == ["archived", None, None, None, None]


async def test_a_legal_hold_keeps_what_it_is_about(store: SqlStore, database: Database, clock: FakeClock) -> None:
    held, free = await stored(store.writes, "held", project="trial"), await stored(store.writes, "free")
    trial = Criteria(project="trial", only_project=True)
    await store.policies.set_document(PolicyDocument(workspace_id="w1", given={}, holds=(trial,)))
    operation, selection, ids = await running(store, clock), selected(clock), [held.id, free.id]

    (looked_at,) = await store.lifecycle.look(selection, [ids], archive_all)
    done = await store.lifecycle.apply(operation, selection, ids, archive_all)

    assert looked_at == done
    assert ([change.memory_id for change in done.changes], done.held) == ([free.id], 1)
    assert await row(database, held.id) == held


async def test_a_look_at_several_groups_foresees_what_each_leaves(store: SqlStore, clock: FakeClock) -> None:
    """The second group ends up with the text that the first had before."""
    texts = {"one": "two", "three": "one"}
    groups = [[(await stored(store.writes, text)).id] for text in texts]
    operation, selection = await running(store, clock), selected(clock)

    def reworded(subjects: Sequence[Subject]) -> Sequence[Change]:
        memories = [subject.memory for subject in subjects]
        return [
            Change(memory_id=each.id, action=Action.REWRITTEN, why="said anew", after=each._replace(content=text))
            for each in memories
            if (text := texts.get(each.content)) is not None
        ]

    looked_at = await store.lifecycle.look(selection, groups, reworded)
    other_way = await store.lifecycle.look(selection, groups[::-1], reworded)
    done = [await store.lifecycle.apply(operation, selection, ids, reworded) for ids in groups]

    assert [[change.memory_id for change in result.changes] for result in looked_at] == groups
    assert looked_at == done
    assert [result.conflicts for result in other_way] == [1, 0]


async def test_an_operation_that_has_ended_changes_nothing_more(
    store: SqlStore, database: Database, clock: FakeClock
) -> None:
    one = await stored(store.writes, "one")
    operation = await running(store, clock)
    await store.operations.hold_operation("me", 30, {PRUNE})
    await store.operations.cancel_operation("w1", operation.id)

    late = await store.lifecycle.apply(operation, selected(clock), [one.id], archive_all)
    await store.operations.end_operation(operation.id, "me", OperationStatus.CANCELLED)
    later = await store.lifecycle.apply(operation, selected(clock), [one.id], archive_all)

    assert late.changes == later.changes == ()
    assert await row(database, one.id) == one


async def test_what_was_done_to_it_since_is_left_by_an_undo(
    store: SqlStore, database: Database, clock: FakeClock
) -> None:
    texts = ("taken", "erased", "restored", "forgotten")
    made = {text: await stored(store.writes, text) for text in texts}
    operation = await running(store, clock)
    await store.lifecycle.apply(operation, selected(clock), [each.id for each in made.values()], archive_all)
    ada = viewer(), origin()
    await store.writes.remember([write("taken")])
    await store.writes.erase(made["erased"].id, *ada, "")
    await store.writes.restore(made["restored"].id, *ada, "")
    await store.writes.forget(made["forgotten"].id, *ada, "")
    clock.advance(DAY)

    undoing = await running(store, clock, UNDO)
    await all_undone(store, undoing, operation)

    assert await store.lifecycle.undone(operation.id) == {Undone.TAKEN: 1, Undone.CHANGED: 2}
    erased = await rows(database, "SELECT 1 FROM operation_changes WHERE memory_id = :id", id=made["erased"].id)
    assert erased == []


async def test_a_full_workspace_takes_nothing_back(store: SqlStore, database: Database, clock: FakeClock) -> None:
    one = await stored(store.writes, "one")
    operation = await running(store, clock)
    await store.lifecycle.apply(operation, selected(clock), [one.id], archive_all)
    await stored(store.writes, "another")
    await store.workspaces.create_workspace(Workspace(id="w1", name="w1", created_at=0, max_memories=1))

    await all_undone(store, await running(store, clock, UNDO), operation)

    assert await store.lifecycle.undone(operation.id) == {Undone.FULL: 1}
    assert (await row(database, one.id)).reason == "archived"


async def test_another_workspace_undoes_nothing_and_in_time_nobody(
    store: SqlStore, database: Database, clock: FakeClock
) -> None:
    one = await stored(store.writes, "one")
    operation = await running(store, clock)
    await store.lifecycle.apply(operation, selected(clock), [one.id], archive_all)
    foreign = replace(await running(store, clock, UNDO), workspace_id="w2")

    await all_undone(store, foreign, operation)
    assert await store.lifecycle.undone(operation.id) == {}
    assert await store.lifecycle.purge_changes(clock.now() - DAY, 9) == 0
    assert await store.lifecycle.purge_changes(clock.now() + DAY, 9) == 1
    await all_undone(store, await running(store, clock, UNDO), operation)
    assert (await row(database, one.id)).reason == "archived"


@pytest.mark.parametrize("limit", [1, 2, 9])
async def test_pages_go_from_the_oldest_on(store: SqlStore, clock: FakeClock, limit: int) -> None:
    made: list[Memory] = []
    for number in range(4):
        clock.advance(number % 2)
        made += [await stored(store.writes, f"number {number}", now=clock.now())]
    selection, found, after = selected(clock), list[Subject](), None

    while page := await store.lifecycle.page(selection, limit, after):
        found += page
        after = page[-1].memory.created_at, page[-1].memory.id

    assert [each.memory for each in found] == sorted(made, key=lambda each: (each.created_at, each.id))
    assert await store.lifecycle.count(selection) == 4


async def test_a_document_replaces_the_one_that_its_author_has_read(store: SqlStore, clock: FakeClock) -> None:
    mine, other = (PolicyDocument(workspace_id="w1", given={"legal_hold": [name]}) for name in ("mine", "other"))
    nothing = frozenset({NO_EDITION})

    first = await store.policies.set_document(mine, nothing)
    clock.advance(1)
    with pytest.raises(Outdated):
        await store.policies.set_document(other, nothing)
    again = await store.policies.set_document(mine, nothing)
    clock.advance(1)
    with pytest.raises(Outdated):
        await store.policies.set_document(other, frozenset({first.edition}))
    second = await store.policies.set_document(other, frozenset({again.edition}))

    assert await store.policies.document("w1") == second
    with pytest.raises(Outdated):
        await store.policies.set_document(replace(mine, workspace_id="w2"), frozenset({second.edition}))
    assert await store.policies.document("w2") is None


async def test_a_workspace_has_one_document(store: SqlStore, clock: FakeClock) -> None:
    run = Run(name="old", kind=PRUNE, schedule="30 3 * * *", request={"rule": {"max_confidence": 0.1}})
    holds = (Criteria(tags=("ä",), types=(MemoryType.BUG,)), Criteria())
    one = PolicyDocument(workspace_id="w1", given={"policies": ["ä"]}, runs=(run,), holds=holds, actor="ada")
    two = PolicyDocument(workspace_id="w2", given={})

    assert await store.policies.document("w1") is None
    await store.policies.set_document(replace(one, given={"policies": []}))
    clock.advance(1)
    first = await store.policies.set_document(one)
    second = await store.policies.set_document(two)

    assert first == replace(one, updated_at=clock.now()) == await store.policies.document("w1")
    assert await store.policies.documents(1) == [first]
    assert await store.policies.documents(9, "w1") == [second]
