"""Contract of `ports.index_entries.Vectors`, on every database."""

import asyncio
import math
from array import array
from typing import Any

import orjson
import pytest

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.schema.tables import embeddings, memory_passages
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.errors import TryLater
from openbrain.domain.events.data import MemoryEmbedded
from openbrain.domain.events.envelope import CloudEvent, decode
from openbrain.domain.events.streams import EMBEDDED
from openbrain.domain.ids import joined_hash, uuid7
from openbrain.domain.memory import Memory, Reason
from openbrain.ports.store.index_entries import Embedded, PassageSet
from tests.support.store.direct_rows import put, put_into
from tests.support.store.fixtures import START, FakeClock, memory, rows

MODEL, OTHER = "minilm-1", "minilm-2"


def hashed(text: str) -> str:
    return joined_hash(text)


def vector(*numbers: float) -> "array[float]":
    return array("f", numbers)


A, B, C = hashed("a"), hashed("b"), hashed("c")
VECTORS = {A: vector(1, 0), B: vector(0, 1), C: vector(0.6, 0.8)}


def of(row: Memory, *hashes: str, **changes: Any) -> Embedded:
    given = Embedded(memory_id=row.id, workspace_id=row.workspace_id, revision=row.revision, input_hashes=hashes)
    return given._replace(**changes)


async def announced(database: Database) -> list[tuple[str, CloudEvent[MemoryEmbedded]]]:
    bodies = await rows(database, "SELECT stream, body FROM outbox ORDER BY id")
    return [(row["stream"], decode(CloudEvent[MemoryEmbedded], bytes(row["body"]), EMBEDDED.type)) for row in bodies]


async def test_vectors_come_back_bit_by_bit(store: SqlStore, database: Database) -> None:
    row = memory()
    await put(database, row)
    odd = vector(0.1, -0.0, 1e-45, 3.4e38, math.pi, 1 / 3) * 64

    await store.vectors.save({A: odd}, [of(row, A)], MODEL)

    found = await store.vectors.passages([row.id], MODEL)
    assert found == {row.id: PassageSet(1, (odd,))}
    assert found[row.id].vectors[0].tobytes() == odd.tobytes()
    (raw,) = await rows(database, "SELECT vector FROM embeddings")
    assert bytes(raw["vector"])[:4] == b"\xcd\xcc\xcc\x3d"


async def test_known_is_by_model(store: SqlStore) -> None:
    await store.vectors.save({A: VECTORS[A]}, [], MODEL)

    assert await store.vectors.known([A, B, A], MODEL) == {A}
    assert await store.vectors.known([A], OTHER) == frozenset()
    assert await store.vectors.known([], MODEL) == frozenset()
    assert await store.vectors.known([hashed(str(number)) for number in range(1200)] + [A], MODEL) == {A}


async def test_a_vector_that_is_there_stays(store: SqlStore, database: Database) -> None:
    row = memory()
    await put(database, row)
    await store.vectors.save({A: vector(1, 0)}, [], MODEL)

    await store.vectors.save({A: vector(9, 9), B: vector(0, 1)}, [of(row, A, B)], MODEL)

    assert (await store.vectors.passages([row.id], MODEL))[row.id].vectors == (vector(1, 0), vector(0, 1))


async def test_saving_announces_and_counts(store: SqlStore, database: Database, clock: FakeClock) -> None:
    row = memory(revision=7)
    await put(database, row)
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    await store.vectors.save(VECTORS, [of(row, A, B, C, causation_id="evt-1", traceparent=trace)], MODEL)

    ((stream, event),) = await announced(database)
    assert stream == "memory.embedded"
    assert event.data == MemoryEmbedded(memory_id=row.id, workspace_id="w1", revision=7, model=MODEL)
    assert (event.subject, event.causationid, event.traceparent) == (row.id, "evt-1", trace)
    (entry,) = await store.outbox.take(10)
    assert "generation" not in orjson.loads(entry.body)["data"]
    assert (await store.memories.rows([row.id]))[row.id] == row._replace(passages_high=3)


@pytest.mark.parametrize(
    "changes",
    [
        {"revision": 2},
        {"deleted_at": START, "reason": Reason.FORGOTTEN},
        {"archived_at": START},
        {"reason": Reason.EXPIRED},
    ],
)
async def test_what_moved_on_or_left_keeps_its_passages(
    store: SqlStore, database: Database, changes: dict[str, Any]
) -> None:
    row, neighbour = memory(), memory("neighbour")
    await put(database, row._replace(**changes), neighbour)

    await store.vectors.save(VECTORS, [of(row, A), of(neighbour, B)], MODEL)

    assert set(await store.vectors.passages([row.id, neighbour.id], MODEL)) == {neighbour.id}
    assert [event.subject for _, event in await announced(database)] == [neighbour.id]
    assert await store.vectors.known([A, B], MODEL) == {A, B}


async def test_an_unknown_memory_is_no_error(store: SqlStore, database: Database) -> None:
    await store.vectors.save(VECTORS, [of(memory(), A)], MODEL)

    assert await announced(database) == []


async def test_fewer_passages_replace_more(store: SqlStore, database: Database) -> None:
    row = memory()
    await put(database, row)
    await store.vectors.save(VECTORS, [of(row, A, B, C)], MODEL)
    await store.vectors.save(VECTORS, [of(row, A, B, C)], OTHER)

    await store.vectors.save({}, [of(row, C)], MODEL)

    found = await store.vectors.passages([row.id], MODEL)
    assert found == {row.id: PassageSet(1, (VECTORS[C],))}
    assert len((await store.vectors.passages([row.id], OTHER))[row.id].vectors) == 3
    assert (await store.memories.rows([row.id]))[row.id].passages_high == 3

    await store.vectors.save({}, [of(row, B, A)], MODEL)
    assert (await store.vectors.passages([row.id], MODEL))[row.id].vectors == (VECTORS[B], VECTORS[A])


async def test_the_same_again_is_the_same(store: SqlStore, database: Database) -> None:
    row = memory()
    await put(database, row)
    for _ in range(2):
        await store.vectors.save(VECTORS, [of(row, A, B)], MODEL)

    assert await store.vectors.passages([row.id], MODEL) == {row.id: PassageSet(1, (VECTORS[A], VECTORS[B]))}
    assert len(await rows(database, "SELECT * FROM memory_passages")) == 2
    assert len(await rows(database, "SELECT * FROM embeddings")) == 3


async def test_a_new_revision_carries_over_what_it_shares(store: SqlStore, database: Database) -> None:
    row = memory()
    await put(database, row)
    await store.vectors.save(VECTORS, [of(row, A, B)], MODEL)
    await database.write(lambda connection: connection.exec_driver_sql("UPDATE memories SET revision = 2").rowcount)

    assert (await store.vectors.passages([row.id], MODEL))[row.id].revision == 1
    await store.vectors.save({}, [of(row, A, B, revision=2)], MODEL)

    assert await store.vectors.passages([row.id], MODEL) == {row.id: PassageSet(2, (VECTORS[A], VECTORS[B]))}


async def test_of_two_revisions_in_a_batch_the_current_one_counts(store: SqlStore, database: Database) -> None:
    row = memory(revision=2)
    await put(database, row)

    await store.vectors.save(VECTORS, [of(row, A), of(row, B, revision=1), of(row, A)], MODEL)

    assert await store.vectors.passages([row.id], MODEL) == {row.id: PassageSet(2, (VECTORS[A],))}
    assert len(await announced(database)) == 1


async def test_a_vector_that_is_known_no_more_is_asked_for_again(store: SqlStore, database: Database) -> None:
    row = memory("1")
    await put(database, row)

    with pytest.raises(TryLater, match="embed it again"):
        await store.vectors.save(VECTORS, [of(row, A, hashed("erased meanwhile"))], MODEL)

    assert await store.vectors.passages([row.id], MODEL) == {}
    assert await store.vectors.known([A], MODEL) == set()
    assert await store.outbox.take(10) == []


async def test_passages_without_all_their_vectors_are_absent(store: SqlStore, database: Database) -> None:
    missing, torn, mixed = memory("1"), memory("2"), memory("3")
    await put(database, missing, torn, mixed)
    await store.vectors.save(VECTORS, [of(missing, A)], MODEL)
    passage = {"model": MODEL, "input_hash": A, "revision": 1}
    await put_into(
        database,
        memory_passages,
        {**passage, "memory_id": missing.id, "passage": 1, "input_hash": hashed("never")},
        {**passage, "memory_id": torn.id, "passage": 1},
        {**passage, "memory_id": mixed.id, "passage": 0},
        {**passage, "memory_id": mixed.id, "passage": 1, "revision": 2},
    )

    assert await store.vectors.passages([missing.id, torn.id, mixed.id, uuid7(START)], MODEL) == {}
    assert await store.vectors.passages([], MODEL) == {}

    late = {"input_hash": hashed("never"), "model": MODEL, "vector": VECTORS[B].tobytes(), "created_at": START}
    await put_into(database, embeddings, late)
    assert set(await store.vectors.passages([missing.id], MODEL)) == {missing.id}


async def test_more_than_one_statement_takes(store: SqlStore, database: Database) -> None:
    many = [memory(str(number)) for number in range(1100)]
    await put(database, *many)
    vectors = {hashed(row.id): vector(number, 1) for number, row in enumerate(many)}

    await store.vectors.save(vectors, [of(row, hashed(row.id)) for row in many], MODEL)

    found = await store.vectors.passages([row.id for row in many], MODEL)
    assert {row.id: found[row.id].vectors[0][0] for row in many} == {row.id: number for number, row in enumerate(many)}
    assert len(await store.outbox.take(2000)) == 1100


async def test_two_embedders_with_the_same_work(store: SqlStore, database: Database) -> None:
    """They lock in one order, so neither becomes a deadlock victim, and the last writer's passages are stored
    completely."""
    many = [memory(str(number)) for number in range(40)]
    await put(database, *many)
    vectors = {hashed(row.id): vector(number, 1) for number, row in enumerate(many)}
    forwards = [of(row, hashed(row.id)) for row in many]

    await asyncio.gather(
        *(store.vectors.save(dict(reversed(vectors.items())), forwards[::step], MODEL) for step in (1, -1) * 6)
    )

    found = await store.vectors.passages([row.id for row in many], MODEL)
    assert len(found) == 40
    assert len(await store.outbox.take(1000)) == 12 * 40


async def test_vectors_that_were_made_again_replace_the_known_ones(store: SqlStore, database: Database) -> None:
    row = memory()
    await put(database, row)
    await store.vectors.save(VECTORS, [of(row, A, B)], MODEL)

    await store.vectors.save({A: VECTORS[C]}, [], MODEL)
    assert (await store.vectors.passages([row.id], MODEL))[row.id].vectors == (VECTORS[A], VECTORS[B])
    await store.vectors.save({A: VECTORS[C]}, [], MODEL, replace=True)

    assert (await store.vectors.passages([row.id], MODEL))[row.id].vectors == (VECTORS[C], VECTORS[B])


async def test_it_is_known_what_a_model_has_not_embedded(store: SqlStore, database: Database) -> None:
    done, twin, old, lacking, new = (memory(updated_at=START) for _ in range(5))
    plain = memory(updated_at=START, wants_vector=False)
    gone = memory(updated_at=START, deleted_at=START, reason=Reason.FORGOTTEN)
    due = memory(updated_at=START, expires_at=START)  # it is live until it is ended, whatever a clock says
    new = new._replace(updated_at=START + 10)
    for row in (done, twin, old, lacking, new, plain, gone, due):
        await put(database, row)
    await store.vectors.save(VECTORS, [of(done, A, B), of(twin, A), of(old, C)], MODEL)
    await store.vectors.save({A: VECTORS[A]}, [of(lacking, A)], OTHER)
    await database.write(
        lambda connection: connection.exec_driver_sql(f"UPDATE memories SET revision = 2 WHERE id = '{old.id}'")
    )

    waiting = sorted((old.id, lacking.id, due.id))
    assert await store.vectors.unembedded(MODEL, START + 10, "", 10) == waiting
    assert await store.vectors.unembedded(MODEL, START + 11, "", 10) == sorted((*waiting, new.id))
    assert await store.vectors.unembedded(MODEL, START + 10, "", 1) == waiting[:1]
    assert await store.vectors.unembedded(MODEL, START + 10, waiting[0], 10) == waiting[1:]
    assert (
        await store.vectors.count_inputs(MODEL),
        await store.vectors.count_inputs(OTHER),
        await store.vectors.count_inputs("-"),
    ) == (
        3,
        1,
        0,
    )


async def test_token_states_stand_beside_the_vector_they_were_made_with(store: SqlStore, database: Database) -> None:
    row, other = memory(), memory()
    await put(database, row, other)
    await store.vectors.save({A: VECTORS[A], B: VECTORS[B]}, [of(row, A, B), of(other, B)], MODEL, states={A: b"\1a\0"})

    inputs = await store.vectors.inputs([row.id, other.id, "unknown"], MODEL)
    assert {memory_id: sorted(some) for memory_id, some in inputs.items()} == {row.id: [A, B], other.id: [B]}
    assert await store.vectors.states([A, B, "unknown"], MODEL) == {A: b"\1a\0"}
    for read in (store.vectors.inputs, store.vectors.states):
        assert await read([row.id, A], OTHER) == {}
        assert await read([], MODEL) == {}
    assert await store.vectors.known([A, B], MODEL) == {A, B}
    assert await store.vectors.known([A, B], MODEL, b"\1") == {A}, "inputs without states are to be embedded again"
    assert await store.vectors.known([A, B], MODEL, b"\2") == frozenset(), "also those with states in another version"


async def test_later_token_states_replace_others_and_none_takes_none_away(store: SqlStore, database: Database) -> None:
    row = memory()
    await put(database, row)
    await store.vectors.save({A: VECTORS[A], B: VECTORS[B]}, [of(row, A, B)], MODEL, states={A: b"\1old"})
    await store.vectors.save({A: VECTORS[C], B: VECTORS[C]}, [], MODEL, states={A: b"\2new", B: b"\2late"})
    await store.vectors.save({A: VECTORS[C]}, [], MODEL)

    assert await store.vectors.states([A, B], MODEL) == {A: b"\2new", B: b"\2late"}
    assert (await store.vectors.passages([row.id], MODEL))[row.id].vectors == (VECTORS[A], VECTORS[B])


async def test_token_states_go_with_their_vector(store: SqlStore, database: Database) -> None:
    await store.vectors.save({A: VECTORS[A]}, [], MODEL, states={A: b"\1" + bytes(64)})

    assert await store.vectors.drop_embeddings([A]) == 1
    assert await rows(database, "SELECT COUNT(*) AS n FROM embeddings") == [{"n": 0}]
