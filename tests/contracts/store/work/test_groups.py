"""Paused groups and outside readers, on every database; notes of failures that are withdrawn."""

from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.memory import State
from openbrain.ports.store.generations import IndexKind
from tests.support.store.fixtures import FakeClock, stored


async def test_a_pause_stands_until_it_is_ended(store: SqlStore, clock: FakeClock) -> None:
    paused = await store.groups.pause_group("embedder", "ada", "the model is moved")
    clock.advance(5)

    assert await store.groups.pause_group("embedder", "bob", "me too") == paused
    await store.groups.pause_group("Embedder", "bob", "another name")
    assert [each.name for each in await store.groups.pauses()] == ["Embedder", "embedder"]
    assert await store.groups.resume_group("embedder")
    assert not await store.groups.resume_group("embedder")
    assert [each.name for each in await store.groups.pauses()] == ["Embedder"]


async def test_a_reader_is_registered_once_for_each_stream(store: SqlStore) -> None:
    one = await store.groups.register_group("memory.stored", "analytics", "ada", "the warehouse")
    await store.groups.register_group("memory.superseded", "analytics", "ada", "")

    assert await store.groups.register_group("memory.stored", "analytics", "bob", "again") == one
    assert [(each.stream, each.name) for each in await store.groups.outside_groups()] == [
        ("memory.stored", "analytics"),
        ("memory.superseded", "analytics"),
    ]
    assert await store.groups.unregister_group("memory.stored", "analytics")
    assert not await store.groups.unregister_group("memory.stored", "analytics")
    assert [each.stream for each in await store.groups.outside_groups()] == ["memory.superseded"]


async def test_a_failure_that_is_taken_back_is_none(store: SqlStore, clock: FakeClock) -> None:
    row = await stored(store.writes)
    other = await stored(store.writes, "another")
    for memory in (row, other):
        await store.index_marks.record_failure(IndexKind.TEXT, memory.id, "too many fields")

    assert await store.index_marks.clear_failures(IndexKind.VECTOR, [row.id]) == 0
    assert await store.index_marks.clear_failures(IndexKind.TEXT, [row.id, "unknown"]) == 1
    assert await store.index_marks.clear_failures(IndexKind.TEXT, []) == 0
    rows = await store.memories.rows([row.id, other.id])
    assert rows[row.id].state(clock.now()) is State.CREATED
    assert rows[other.id].state(clock.now()) is State.FAILED
