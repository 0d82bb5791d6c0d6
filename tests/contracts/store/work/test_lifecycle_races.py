"""Lifecycle operations while others store the same text: the operation is told, and goes on."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest
from sqlalchemy import Connection
from sqlalchemy.util import await_only

from openbrain.adapters.sql.engine.opening import open_database
from openbrain.adapters.sql.store import SqlStore
from openbrain.adapters.sql.writes import locked_reads
from openbrain.domain.memory import Memory
from openbrain.ports.cleaning import Cleaned, MemoryTexts
from openbrain.ports.lifecycle import CLEAN, UNDO, Action, Change, PolicyDocument, Subject, Undone
from tests.contracts.store.work.test_lifecycle import all_undone, archive_all, running, selected
from tests.support.store.fixtures import FakeClock, stored, write


@pytest.fixture
async def shared(mariadb_tables_url: str, clock: FakeClock) -> AsyncIterator[SqlStore]:
    """A store on MariaDB, which lets two transactions write at once."""
    store = SqlStore(open_database(mariadb_tables_url, pool=4), clock)
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


async def test_the_first_policies_of_several_admins_at_once(store: SqlStore) -> None:
    for workspace in ("w1", "w2", "w3", "w4"):
        given = [PolicyDocument(workspace_id=workspace, given={"policies": [number]}) for number in range(4)]

        done = await asyncio.gather(*(store.policies.set_document(document) for document in given))

        assert await store.policies.document(workspace) in done
