"""Groups that rest and readers from outside, on every database; notes of failures taken back."""

from openbrain.adapters.sql.store import SqlTruth
from openbrain.domain.memory import State
from openbrain.ports.generations import IndexKind
from tests.support.store.fixtures import FakeClock, stored


async def test_a_pause_stands_until_it_is_ended(truth: SqlTruth, clock: FakeClock) -> None:
    paused = await truth.pause_group("embedder", "ada", "the model is moved")
    clock.advance(5)

    assert await truth.pause_group("embedder", "bob", "me too") == paused
    await truth.pause_group("Embedder", "bob", "another name")
    assert [each.name for each in await truth.pauses()] == ["Embedder", "embedder"]
    assert await truth.resume_group("embedder")
    assert not await truth.resume_group("embedder")
    assert [each.name for each in await truth.pauses()] == ["Embedder"]


async def test_a_reader_is_registered_once_for_each_stream(truth: SqlTruth) -> None:
    one = await truth.register_group("memory.stored", "analytics", "ada", "the warehouse")
    await truth.register_group("memory.superseded", "analytics", "ada", "")

    assert await truth.register_group("memory.stored", "analytics", "bob", "again") == one
    assert [(each.stream, each.name) for each in await truth.outside_groups()] == [
        ("memory.stored", "analytics"),
        ("memory.superseded", "analytics"),
    ]
    assert await truth.unregister_group("memory.stored", "analytics")
    assert not await truth.unregister_group("memory.stored", "analytics")
    assert [each.stream for each in await truth.outside_groups()] == ["memory.superseded"]


async def test_a_failure_that_is_taken_back_is_none(truth: SqlTruth, clock: FakeClock) -> None:
    row = await stored(truth)
    other = await stored(truth, "another")
    for memory in (row, other):
        await truth.record_failure(IndexKind.TEXT, memory.id, "too many fields")

    assert await truth.clear_failures(IndexKind.VECTOR, [row.id]) == 0
    assert await truth.clear_failures(IndexKind.TEXT, [row.id, "unknown"]) == 1
    assert await truth.clear_failures(IndexKind.TEXT, []) == 0
    rows = await truth.rows([row.id, other.id])
    assert rows[row.id].state(clock.now()) is State.CREATED
    assert rows[other.id].state(clock.now()) is State.FAILED
