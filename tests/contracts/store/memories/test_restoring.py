"""Contract of `MemoryWrites.restore` and of expected versions, on both databases."""

from dataclasses import replace

import pytest

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.errors import Conflict, NotFound, Outdated
from openbrain.domain.memory import DAY, Memory, Reason, Scope, State
from openbrain.ports.store.writes import Edit
from tests.support.store.fixtures import FakeClock, announced, origin, row, stored, viewer, write


async def forgotten(store: SqlStore, content: str = "gone", **changes: object) -> Memory:
    memory = await stored(store.writes, content, **changes)
    return await store.writes.forget(memory.id, viewer(), origin(), "")


async def superseded(store: SqlStore, old: Memory, content: str) -> Memory:
    (outcome,) = await store.writes.remember([write(content, supersedes_id=old.id, now=store._clock.now())])
    assert outcome.memory is not None, outcome.error
    return outcome.memory


async def restored(store: SqlStore, memory: Memory, **changes: object) -> Memory:
    return await store.writes.restore(memory.id, viewer(**changes), origin("bob"), "after all")  # type: ignore[arg-type]


async def test_a_forgotten_memory_comes_back_whole(store: SqlStore, database: Database, clock: FakeClock) -> None:
    ended = await forgotten(store, tags=("a",))
    clock.advance(DAY)
    back = await restored(store, ended)
    again = await restored(store, ended)

    assert back == again == await row(database, ended.id)
    assert (back.reason, back.deleted_at, back.tags, back.content) == (None, None, ("a",), "gone")
    assert (back.version, back.revision) == (ended.version + 1, ended.revision + 1)
    assert back.alive(clock.now())
    assert back.state(clock.now()) is State.CREATED
    assert (back.created_at, back.updated_at) == (ended.created_at, clock.now())
    lines = await store.memories.history(ended.id)
    assert [(line.action, line.actor, line.reason) for line in lines][2:] == [("restored", "bob", "after all")]
    (event,) = [each for each in await announced(database) if each.get("change") == "restored"]
    assert (event["memory_id"], event["revision"]) == (ended.id, back.revision)


async def test_what_was_restored_is_a_duplicate_of_the_same_again(store: SqlStore) -> None:
    back = await restored(store, await forgotten(store))
    (outcome,) = await store.writes.remember([write("gone")])

    assert outcome.memory == back


async def test_no_restoring_onto_what_says_the_same(store: SqlStore) -> None:
    ended = await forgotten(store)
    other = await stored(store.writes, "gone")

    with pytest.raises(Conflict) as refused:
        await restored(store, ended)

    assert refused.value.head == other.id


async def test_what_says_the_same_but_is_due_makes_way(store: SqlStore, database: Database, clock: FakeClock) -> None:
    ended = await forgotten(store)
    other = await stored(store.writes, "gone", expires_at=clock.now() + 10)
    clock.advance(10)

    back = await restored(store, ended)

    assert back.alive(clock.now())
    assert (await row(database, other.id)).reason is Reason.EXPIRED


async def test_a_superseded_memory_comes_back_only_when_nothing_of_its_chain_lives(store: SqlStore) -> None:
    first = await stored(store.writes, "first")
    second = await superseded(store, first, "second")
    third = await superseded(store, second, "third")

    for old in (first, second):
        with pytest.raises(Conflict) as refused:
            await restored(store, old)
        assert refused.value.head == third.id

    await store.writes.forget(third.id, viewer(), origin(), "")
    back = await restored(store, first)
    for other in (second, third):
        with pytest.raises(Conflict) as refused:
            await restored(store, other)
        assert refused.value.head == back.id

    fourth = await superseded(store, back, "fourth")
    with pytest.raises(Conflict) as refused:
        await restored(store, third)
    assert refused.value.head == fourth.id


async def test_a_head_that_one_can_not_see_is_not_named(store: SqlStore) -> None:
    old = await stored(store.writes, "of all")
    (outcome,) = await store.writes.remember([write("mine", supersedes_id=old.id, memory_scope=Scope.AGENT)])
    assert outcome.memory is not None

    with pytest.raises(Conflict) as refused:
        await store.writes.restore(old.id, viewer(agent="bob"), origin(), "")

    assert refused.value.head is None
    assert outcome.memory.id not in str(refused.value)


@pytest.mark.parametrize("ended_by_now", [True, False])
async def test_an_expired_memory_comes_back_to_stay(store: SqlStore, clock: FakeClock, ended_by_now: bool) -> None:
    memory = await stored(store.writes, "short", expires_at=clock.now() + 10)
    clock.advance(10)
    if ended_by_now:
        await store.writes.expire_due(10, clock.now())

    back = await restored(store, memory)

    assert back.alive(clock.now())
    assert back.expires_at is None


async def test_an_expiry_that_has_not_come_stays(store: SqlStore, clock: FakeClock) -> None:
    ended = await forgotten(store, expires_at=clock.now() + DAY)

    assert (await restored(store, ended)).expires_at == clock.now() + DAY


async def test_what_was_erased_is_gone(store: SqlStore) -> None:
    memory = await stored(store.writes)
    await store.writes.erase(memory.id, viewer(), origin(), "")

    with pytest.raises(Conflict, match="erased"):
        await restored(store, memory)


async def test_nobody_restores_what_is_not_theirs(store: SqlStore, database: Database) -> None:
    ended = await forgotten(store, org="acme", memory_scope=Scope.AGENT)
    for eyes in (
        viewer(workspace="w2"),
        viewer(agent="bob"),
        viewer(orgs=("other",)),
        viewer(orgs=("other",), without_org=False),
    ):
        with pytest.raises(NotFound, match="no memory with this id"):
            await store.writes.restore(ended.id, eyes, origin(), "")
    assert await row(database, ended.id) == ended


async def test_a_change_names_the_edition_that_it_is_of(store: SqlStore) -> None:
    memory = await stored(store.writes, "one")
    change = Edit(memory_id=memory.id, viewer=viewer(), origin=origin(), tags=("a",))
    seen = frozenset({memory.edition})

    changed = await store.writes.update(replace(change, expected_versions=seen))
    assert changed.edition != memory.edition
    with pytest.raises(Outdated):
        await store.writes.update(replace(change, tags=("b",), expected_versions=seen))
    with pytest.raises(Outdated):
        await store.writes.forget(memory.id, viewer(), origin(), "", seen)
    ended = await store.writes.forget(memory.id, viewer(), origin(), "", seen | {changed.edition})
    with pytest.raises(Outdated):
        await store.writes.restore(memory.id, viewer(), origin(), "", frozenset({changed.edition}))
    back = await store.writes.restore(memory.id, viewer(), origin(), "", frozenset({ended.edition}))

    assert len({memory.edition, changed.edition, ended.edition, back.edition}) == 4
