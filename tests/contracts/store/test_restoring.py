"""Contract of `Writing.restore` and of editions, on both databases."""

from dataclasses import replace

import pytest

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.store import SqlTruth
from openbrain.domain.errors import Conflict, NotFound, Outdated
from openbrain.domain.memory import DAY, Memory, Reason, Scope, State
from openbrain.ports.store import Edit
from tests.support.store.fixtures import FakeClock, announced, origin, row, stored, viewer, write


async def forgotten(truth: SqlTruth, content: str = "gone", **changes: object) -> Memory:
    memory = await stored(truth, content, **changes)
    return await truth.forget(memory.id, viewer(), origin(), "")


async def superseded(truth: SqlTruth, old: Memory, content: str) -> Memory:
    (outcome,) = await truth.remember([write(content, supersedes_id=old.id, now=truth._clock.now())])
    assert outcome.memory is not None, outcome.error
    return outcome.memory


async def restored(truth: SqlTruth, memory: Memory, **changes: object) -> Memory:
    return await truth.restore(memory.id, viewer(**changes), origin("bob"), "after all")  # type: ignore[arg-type]


async def test_a_forgotten_memory_comes_back_whole(truth: SqlTruth, database: Database, clock: FakeClock) -> None:
    ended = await forgotten(truth, tags=("a",))
    clock.advance(DAY)
    back = await restored(truth, ended)
    again = await restored(truth, ended)

    assert back == again == await row(database, ended.id)
    assert (back.reason, back.deleted_at, back.tags, back.content) == (None, None, ("a",), "gone")
    assert (back.version, back.revision) == (ended.version + 1, ended.revision + 1)
    assert back.alive(clock.now())
    assert back.state(clock.now()) is State.CREATED
    assert (back.created_at, back.updated_at) == (ended.created_at, clock.now())
    lines = await truth.history(ended.id)
    assert [(line.action, line.actor, line.reason) for line in lines][2:] == [("restored", "bob", "after all")]
    (event,) = [each for each in await announced(database) if each.get("change") == "restored"]
    assert (event["memory_id"], event["revision"]) == (ended.id, back.revision)


async def test_what_was_restored_is_a_duplicate_of_the_same_again(truth: SqlTruth) -> None:
    back = await restored(truth, await forgotten(truth))
    (outcome,) = await truth.remember([write("gone")])

    assert outcome.memory == back


async def test_no_restoring_onto_what_says_the_same(truth: SqlTruth) -> None:
    ended = await forgotten(truth)
    other = await stored(truth, "gone")

    with pytest.raises(Conflict) as refused:
        await restored(truth, ended)

    assert refused.value.head == other.id


async def test_what_says_the_same_but_is_due_makes_way(truth: SqlTruth, database: Database, clock: FakeClock) -> None:
    ended = await forgotten(truth)
    other = await stored(truth, "gone", expires_at=clock.now() + 10)
    clock.advance(10)

    back = await restored(truth, ended)

    assert back.alive(clock.now())
    assert (await row(database, other.id)).reason is Reason.EXPIRED


async def test_a_superseded_memory_comes_back_only_when_nothing_of_its_chain_lives(truth: SqlTruth) -> None:
    first = await stored(truth, "first")
    second = await superseded(truth, first, "second")
    third = await superseded(truth, second, "third")

    for old in (first, second):
        with pytest.raises(Conflict) as refused:
            await restored(truth, old)
        assert refused.value.head == third.id

    await truth.forget(third.id, viewer(), origin(), "")
    back = await restored(truth, first)
    for other in (second, third):
        with pytest.raises(Conflict) as refused:
            await restored(truth, other)
        assert refused.value.head == back.id

    fourth = await superseded(truth, back, "fourth")
    with pytest.raises(Conflict) as refused:
        await restored(truth, third)
    assert refused.value.head == fourth.id


async def test_a_head_that_one_can_not_see_is_not_named(truth: SqlTruth) -> None:
    old = await stored(truth, "of all")
    (outcome,) = await truth.remember([write("mine", supersedes_id=old.id, memory_scope=Scope.AGENT)])
    assert outcome.memory is not None

    with pytest.raises(Conflict) as refused:
        await truth.restore(old.id, viewer(agent="bob"), origin(), "")

    assert refused.value.head is None
    assert outcome.memory.id not in str(refused.value)


@pytest.mark.parametrize("ended_by_now", [True, False])
async def test_an_expired_memory_comes_back_to_stay(truth: SqlTruth, clock: FakeClock, ended_by_now: bool) -> None:
    memory = await stored(truth, "short", expires_at=clock.now() + 10)
    clock.advance(10)
    if ended_by_now:
        await truth.expire_due(10, clock.now())

    back = await restored(truth, memory)

    assert back.alive(clock.now())
    assert back.expires_at is None


async def test_an_expiry_that_has_not_come_stays(truth: SqlTruth, clock: FakeClock) -> None:
    ended = await forgotten(truth, expires_at=clock.now() + DAY)

    assert (await restored(truth, ended)).expires_at == clock.now() + DAY


async def test_what_was_erased_is_gone(truth: SqlTruth) -> None:
    memory = await stored(truth)
    await truth.erase(memory.id, viewer(), origin(), "")

    with pytest.raises(Conflict, match="erased"):
        await restored(truth, memory)


async def test_nobody_restores_what_is_not_theirs(truth: SqlTruth, database: Database) -> None:
    ended = await forgotten(truth, org="acme", memory_scope=Scope.AGENT)
    for eyes in (
        viewer(workspace="w2"),
        viewer(agent="bob"),
        viewer(orgs=("other",)),
        viewer(orgs=("other",), without_org=False),
    ):
        with pytest.raises(NotFound, match="no memory with this id"):
            await truth.restore(ended.id, eyes, origin(), "")
    assert await row(database, ended.id) == ended


async def test_a_change_names_the_edition_that_it_is_of(truth: SqlTruth) -> None:
    memory = await stored(truth, "one")
    change = Edit(memory_id=memory.id, viewer=viewer(), origin=origin(), tags=("a",))
    seen = frozenset({memory.edition})

    changed = await truth.update(replace(change, editions=seen))
    assert changed.edition != memory.edition
    with pytest.raises(Outdated):
        await truth.update(replace(change, tags=("b",), editions=seen))
    with pytest.raises(Outdated):
        await truth.forget(memory.id, viewer(), origin(), "", seen)
    ended = await truth.forget(memory.id, viewer(), origin(), "", seen | {changed.edition})
    with pytest.raises(Outdated):
        await truth.restore(memory.id, viewer(), origin(), "", frozenset({changed.edition}))
    back = await truth.restore(memory.id, viewer(), origin(), "", frozenset({ended.edition}))

    assert len({memory.edition, changed.edition, ended.edition, back.edition}) == 4
