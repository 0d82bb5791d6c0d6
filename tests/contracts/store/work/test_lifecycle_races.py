"""Lifecycle operations while others store the same text: the operation is told, and goes on."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest
from sqlalchemy import Connection, select
from sqlalchemy.util import await_only

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.engine.opening import open_database
from openbrain.adapters.sql.schema.tables import recalls
from openbrain.adapters.sql.store import SqlStore
from openbrain.adapters.sql.writes import erasing, locked_reads
from openbrain.domain.access.visibility import Criteria, everything
from openbrain.domain.errors import Outdated
from openbrain.domain.ids import uuid7
from openbrain.domain.memory import Memory
from openbrain.ports.cleaning import Cleaned, MemoryTexts
from openbrain.ports.lifecycle import CLEAN, NO_EDITION, UNDO, Action, Change, PolicyDocument, Subject, Undone, Use
from openbrain.ports.store.memories import RecallRecord
from openbrain.ports.store.writes import Bulk, Edit, Ended
from tests.contracts.store.work.test_lifecycle import all_undone, archive_all, running, selected
from tests.support.store.fixtures import FakeClock, origin, stored, viewer, write


@pytest.fixture
def opened(mariadb_tables_url: str) -> Database:
    """MariaDB, which lets two transactions write at once."""
    return open_database(mariadb_tables_url, pool=4)


@pytest.fixture
async def shared(opened: Database, clock: FakeClock) -> AsyncIterator[SqlStore]:
    store = SqlStore(opened, clock)
    yield store
    await store.close()


@pytest.fixture
def taken(shared: SqlStore, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Texts that another client stores just after the operation has found their keys free."""
    texts: list[str] = []
    holders = locked_reads.holders

    def overtaken(connection: Connection, keys: Sequence[str]) -> dict[str, Memory]:
        found = holders(connection, keys)
        while texts:
            await_only(shared.writes.remember([write(texts.pop(), now=clock.now())]))
        return found

    monkeypatch.setattr(locked_reads, "holders", overtaken)
    return texts


async def test_a_rewrite_is_a_conflict(shared: SqlStore, clock: FakeClock, taken: list[str]) -> None:
    one = await stored(shared.writes, "one")
    operation = await running(shared, clock)

    def reworded(subjects: Sequence[Subject]) -> Sequence[Change]:
        after = subjects[0].memory._replace(content="two")
        return [Change(memory_id=one.id, action=Action.REWRITTEN, why="said anew", after=after)]

    taken.append("two")
    done = await shared.lifecycle.apply(operation, selected(clock), [one.id], reworded)

    assert (done.changes, done.conflicts) == ([], 1)


async def test_an_undo_finds_it_taken(shared: SqlStore, clock: FakeClock, taken: list[str]) -> None:
    one = await stored(shared.writes, "one")
    operation = await running(shared, clock)
    await shared.lifecycle.apply(operation, selected(clock), [one.id], archive_all)

    taken.append("one")
    await all_undone(shared, await running(shared, clock, UNDO), operation)

    assert await shared.lifecycle.undone(operation.id) == {Undone.TAKEN: 1}


async def test_what_is_cleaned_stays_a_second_one(shared: SqlStore, clock: FakeClock, taken: list[str]) -> None:
    one = await stored(shared.writes, "one")
    operation = await running(shared, clock, CLEAN)

    def clean(texts: MemoryTexts) -> Cleaned:
        return Cleaned(texts._replace(memory=texts.memory._replace(content="two")), {"content: word": 1})

    taken.append("two")
    assert await shared.cleansing.clean(operation, selected(clock), [one.id], clean) == 1

    assert (await shared.memories.rows([one.id]))[one.id].content == "two"


@pytest.mark.parametrize("moved", [False, True])
async def test_what_ends_or_moves_meanwhile_does_not_end_a_bulk_forget(
    shared: SqlStore, clock: FakeClock, monkeypatch: pytest.MonkeyPatch, moved: bool
) -> None:
    first = await stored(shared.writes, "first", project="p")
    gone = [(await stored(shared.writes, "second", project="p", now=clock.now() + 1)).id]
    newest = erasing.newest

    def overtaken(connection: Connection, bulk: Bulk, limit: int) -> list[str]:
        found = newest(connection, bulk, limit)
        while gone:
            memory_id = gone.pop()
            move = Edit(memory_id=memory_id, viewer=viewer(), origin=origin("bob"), project="q")
            forget = shared.writes.forget(memory_id, viewer(), origin("bob"), "") if not moved else None
            await_only(forget or shared.writes.update(move))
        return found

    monkeypatch.setattr(erasing, "newest", overtaken)
    bulk = Bulk(condition=everything("w1", Criteria(project="p", only_project=True)), made_by=clock.now() + 1)

    assert await shared.writes.end_living(bulk, 1, origin(), "", erase=False) == Ended(1, first.created_at)


async def test_a_recall_at_the_same_time_is_counted(shared: SqlStore, clock: FakeClock) -> None:
    one = await stored(shared.writes, "one")
    await recalled(shared, clock, one.id)
    operation = await running(shared, clock)

    def joined(subjects: Sequence[Subject]) -> Sequence[Change]:
        clock.advance(1)
        await_only(recalled(shared, clock, one.id))
        ((memory, use),) = subjects
        after, both = memory._replace(tags=("a",)), use._replace(recalls=use.recalls + 5)
        return [Change(memory_id=one.id, action=Action.REWRITTEN, why="joined", after=after, use=both)]

    await shared.lifecycle.apply(operation, selected(clock), [one.id], joined)

    ((_, use),) = await shared.lifecycle.page(selected(clock), 9, None)
    assert use == Use(recalls=7, last_recalled_at=clock.now())
    await all_undone(shared, await running(shared, clock, UNDO), operation)
    ((_, back),) = await shared.lifecycle.page(selected(clock), 9, None)
    assert back == use._replace(recalls=2)


async def recalled(store: SqlStore, clock: FakeClock, memory_id: str) -> None:
    found, now = ((memory_id, 1.0),), clock.now()
    record = RecallRecord(
        id=uuid7(now), workspace_id="w1", agent_id="ada", query="a b", results=found, took_ms=1.0, at=now
    )
    await store.memories.record_recalls([record])


async def test_two_cleans_at_once_both_have_their_effect(shared: SqlStore, opened: Database, clock: FakeClock) -> None:
    await recalled(shared, clock, (await stored(shared.writes, "one")).id)
    first, second = await running(shared, clock, CLEAN), await running(shared, clock, CLEAN)
    unlocked = select(recalls.c.id).with_for_update(skip_locked=True)
    tried: list[bool] = []

    async def other() -> int:
        return await shared.cleansing.clean_others(second, lambda text: text.replace("b", "B"), dry_run=False)

    async def other_if_it_need_not_wait() -> None:
        tried.append(bool(await opened.write(lambda connection: connection.scalar(unlocked))))
        if tried[0]:
            await other()

    def clean(text: str) -> str:
        if not tried:
            await_only(other_if_it_need_not_wait())
        return text.replace("a", "A")

    await shared.cleansing.clean_others(first, clean, dry_run=False)
    if not tried[0]:
        await other()

    query = select(recalls.c.query)
    assert await opened.read(lambda connection: connection.scalar(query)) == "A B"


async def test_the_first_policies_of_several_admins_at_once(store: SqlStore) -> None:
    for workspace in ("w1", "w2", "w3", "w4"):
        given = [PolicyDocument(workspace_id=workspace, given={"policies": [number]}) for number in range(4)]

        done = await asyncio.gather(*(store.policies.set_document(document) for document in given))

        assert await store.policies.document(workspace) in done


async def test_of_admins_who_have_read_the_same_policies_one_sets_others(store: SqlStore) -> None:
    given = [PolicyDocument(workspace_id="w1", given={"policies": [number]}) for number in range(4)]
    expected = frozenset({NO_EDITION})

    writes = (store.policies.set_document(document, expected) for document in given)
    done = await asyncio.gather(*writes, return_exceptions=True)

    (stands,) = [each for each in done if isinstance(each, PolicyDocument)]
    assert await store.policies.document("w1") == stands
    assert [type(each) for each in done if each is not stands] == [Outdated] * 3
