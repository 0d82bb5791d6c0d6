"""Contract of bulk endings, on every database: legal holds, and the words of memories that were merged into others."""

from dataclasses import replace

import pytest

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.access.visibility import Criteria, everything
from openbrain.domain.memory import Memory, Reason
from openbrain.ports.lifecycle import Action, Change, PolicyDocument
from openbrain.ports.store.writes import PURGE, Bulk, Ended
from tests.contracts.store.work.test_lifecycle import running, selected
from tests.support.store.fixtures import START, FakeClock, origin, row, stored, viewer


@pytest.mark.parametrize("erase", [False, True])
async def test_what_a_legal_hold_covers_outlasts_a_bulk_operation(
    store: SqlStore, database: Database, erase: bool
) -> None:
    free, theirs = (
        await stored(store.writes, "free"),
        await stored(store.writes, "theirs", workspace_id="w2", viewer=viewer("w2")),
    )
    held, past = (
        await stored(store.writes, "held", tags=("trial",)),
        await stored(store.writes, "past", tags=("trial",)),
    )
    await store.writes.forget(past.id, viewer(), origin(), "")
    await hold(store, Criteria(tags=("trial",)))
    await hold(store, Criteria(), workspace="w2")
    bulk = Bulk(condition=everything("w1", Criteria()), made_by=START, ended=erase)

    measured = await store.writes.measure_living(bulk.condition, ended=erase)
    assert (measured.rows, measured.held, measured.free) == ((3, 2, 1) if erase else (2, 1, 1))
    assert held.id not in await store.writes.sample_living(bulk, 9)
    assert (await store.writes.end_living(bulk, 9, origin(), "tidy", erase=erase)).rows == 1
    assert (await store.writes.end_living(bulk, 9, origin(), "tidy", erase=erase)).rows == 0

    assert [(await row(database, each.id)).alive(START) for each in (free, held)] == [False, True]
    assert (await row(database, past.id)).content == "past"
    assert (await row(database, theirs.id)).alive(START)
    await store.policies.set_document(PolicyDocument(workspace_id="w1", given={}))
    assert (await store.writes.end_living(bulk, 9, origin(), "tidy", erase=erase)).rows == (2 if erase else 1)


async def test_what_memories_were_merged_into_is_named_and_erased_if_asked(
    store: SqlStore, database: Database, clock: FakeClock
) -> None:
    """By way of another one too; not what replaced one in other words, and not what a legal hold covers."""
    annas = [await stored(store.writes, f"anna says {number}", speaker="anna") for number in range(2)]
    middle, end = await stored(store.writes, "middle"), await stored(store.writes, "end", tags=("trial",))
    await stored(store.writes, "anna moved", supersedes_id=(await stored(store.writes, "anna", speaker="anna")).id)
    for source, into in ((annas[0], middle), (middle, end)):
        await merged(store, clock, source, into)
    seen = everything("w1", Criteria())
    bulk = Bulk(condition=everything("w1", Criteria(speakers=("anna",))), made_by=clock.now(), ended=True, merged=seen)

    assert set(await store.cleansing.merged_beside(bulk)) == {middle.id, end.id}
    assert await store.cleansing.merged_beside(replace(bulk, merged=everything("w2", Criteria()))) == []
    assert await store.cleansing.merged_beside(replace(bulk, condition=seen)) == [], "all of them match"
    one = await store.writes.erase(annas[0].id, viewer(), origin(), "")
    assert set(one.merged) == {middle.id, end.id}
    assert (await store.writes.erase(annas[0].id, viewer(), origin(), "")).merged == one.merged
    assert (await store.writes.erase(annas[1].id, viewer(), origin(), "")).merged == []

    await hold(store, Criteria(tags=("trial",)))
    of_middle = replace(bulk, condition=everything("w1", Criteria(says="middle")))
    assert (await store.writes.end_living(of_middle, 9, origin(), "", erase=True)).rows == 1
    assert (await row(database, end.id)).content == "end"


async def test_an_erasure_takes_what_its_matches_were_merged_into_along(
    store: SqlStore, database: Database, clock: FakeClock
) -> None:
    source, into = await stored(store.writes, "anna says", speaker="anna"), await stored(store.writes, "both say")
    await merged(store, clock, source, into)
    seen = everything("w1", Criteria())
    bulk = Bulk(condition=everything("w1", Criteria(speakers=("anna",))), made_by=clock.now(), ended=True, merged=seen)

    ended = await store.writes.end_living(bulk, 9, origin(), "", erase=True)

    assert ended == Ended(2, source.created_at)
    assert [(await row(database, each.id)).reason for each in (source, into)] == [Reason.ERASED] * 2
    (purge,) = await store.operations.operations("w1", 9, kinds=[PURGE])
    assert sorted(purge.request["ids"]) == sorted([source.id, into.id])


async def merged(store: SqlStore, clock: FakeClock, source: Memory, into: Memory) -> None:
    operation = await running(store, clock)
    merge = Change(memory_id=source.id, action=Action.ARCHIVED, why="", into=into.id)
    await store.lifecycle.apply(operation, selected(clock), [source.id, into.id], lambda _: [merge])


async def hold(store: SqlStore, *holds: Criteria, workspace: str = "w1") -> None:
    await store.policies.set_document(PolicyDocument(workspace_id=workspace, given={}, holds=holds))
