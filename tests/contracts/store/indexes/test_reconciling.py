"""Contract of `ports.index_entries.ExpectedEntries`, on every database: the database's sums equal those computed in
Python."""

from array import array
from collections import defaultdict
from dataclasses import replace
from typing import Any

import pytest

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.events.data import MemoryReindex
from openbrain.domain.events.envelope import CloudEvent, decode, event_type
from openbrain.domain.ids import BUCKETS, bucket, digest
from openbrain.domain.memory import Memory, Reason
from openbrain.ports.index import Sum
from openbrain.ports.store.generations import Generation, IndexKind
from openbrain.ports.store.index_entries import Embedded, Mark
from tests.support.store.direct_rows import put
from tests.support.store.fixtures import START, FakeClock, memory, rows

MODEL = "minilm-1"
TEXT = Generation(kind=IndexKind.TEXT, name="t", model="", dimensions=0, builder="text-7", status="serving")
VECTORS = Generation(kind=IndexKind.VECTOR, name="v", model=MODEL, dimensions=1, builder="edge-3", status="serving")
EVERY = range(BUCKETS)
LAST = "ffffffff"


def expected(generation: Generation, *entries: tuple[Memory, int]) -> dict[int, Sum]:
    """What `bucket_sums` should return for these rows and passages."""
    found: dict[int, Sum] = defaultdict(Sum)
    for row, passage in entries:
        one = digest(row.id, passage, row.revision, row.updated_at, row.content_hash, generation.builder)
        before = found[bucket(row.id)]
        found[bucket(row.id)] = Sum(before.entries + 1, (before.digests or 0) + one)
    return dict(found)


async def embedded(store: SqlStore, row: Memory, passages: int) -> None:
    hashes = tuple(f"{number:064d}" for number in range(passages))
    one = Embedded(memory_id=row.id, workspace_id=row.workspace_id, revision=row.revision, input_hashes=hashes)
    await store.vectors.save({each: array("f", [1.0]) for each in hashes}, [one], MODEL)


async def reindexed(database: Database) -> list[dict[str, Any]]:
    bodies = await rows(database, "SELECT stream, body FROM outbox WHERE stream = 'memory.reindex' ORDER BY id")
    model, name = CloudEvent[MemoryReindex], event_type("memory.reindex")
    return [decode(model, bytes(row["body"]), name).data.model_dump() for row in bodies]


@pytest.mark.parametrize("generation", [TEXT, VECTORS])
async def test_sums_are_those_of_the_rows(
    store: SqlStore, database: Database, clock: FakeClock, generation: Generation
) -> None:
    alive, edited, due = memory("a"), memory("b", revision=3, updated_at=START + 5), memory("c", expires_at=START)
    later = memory("d", expires_at=START + 1)
    gone, archived = memory("e", reason=Reason.FORGOTTEN, deleted_at=START), memory("f", archived_at=START)
    plain = memory("g", wants_vector=False)
    failed = memory("h", text_error_revision=1, vector_error_revision=1)
    everything = [alive, edited, due, later, gone, archived, plain, failed]
    await put(database, *everything)
    for row, passages in ((alive, 1), (edited, 3), (later, 1)):
        await embedded(store, row, passages)

    found = await store.expected_entries.bucket_sums(generation, "", LAST)

    if generation is TEXT:
        assert found == expected(TEXT, (alive, 0), (edited, 0), (due, 0), (later, 0), (plain, 0))
    else:
        assert found == expected(VECTORS, (alive, 0), *((edited, number) for number in range(3)), (later, 0))


async def test_vectors_of_another_revision_or_model_are_not_due(
    store: SqlStore, database: Database, clock: FakeClock
) -> None:
    row = memory()
    await put(database, row)
    await embedded(store, row, 1)
    await store.index_marks.lift({row.id: 1})

    assert await store.expected_entries.bucket_sums(VECTORS, "", LAST) == {}
    assert (await store.expected_entries.by_id(VECTORS, [row.id]))[row.id].waiting
    assert await store.expected_entries.bucket_sums(replace(VECTORS, model="other"), "", LAST) == {}


async def test_the_walk_covers_every_row_once(store: SqlStore, database: Database, clock: FakeClock) -> None:
    everything = sorted((memory(f"{number}") for number in range(7)), key=lambda row: row.id)
    await put(database, *everything)
    after, seen = "", []
    while (until := await store.expected_entries.walk(after, 3)) is not None:
        part = await store.expected_entries.rows_in(TEXT, after, until, EVERY)
        seen.append([row.memory_id for row in part])
        after = until
    ids = [row.id for row in everything]
    assert seen == [ids[:3], ids[3:6], ids[6:]]


async def test_rows_tell_what_is_due(store: SqlStore, database: Database, clock: FakeClock) -> None:
    row = memory(revision=4, updated_at=START + 9, text_revision=4, passages_high=2)
    await put(database, row)
    await embedded(store, row, 1)

    text = (await store.expected_entries.by_id(TEXT, [row.id, memory().id]))[row.id]
    vector = (await store.expected_entries.by_id(VECTORS, [row.id]))[row.id]

    assert (text.revision, text.changed_at, text.passages, text.marked) == (4, START + 9, 1, True)
    assert (vector.passages, vector.high, vector.marked, vector.waiting, vector.living) == (1, 2, False, False, True)
    kept = replace(VECTORS, status="kept")
    assert (await store.expected_entries.by_id(kept, [row.id]))[row.id].marked


async def test_rows_tell_since_when_their_removal_is_on_its_way(store: SqlStore, database: Database) -> None:
    """A row that has just ended gets a grace period, whatever ended it."""
    left = {
        "forgotten": memory("a", reason=Reason.FORGOTTEN, deleted_at=START + 3),
        "archived": memory("b", archived_at=START + 4),
        "fell due": memory("c", reason=Reason.EXPIRED, expires_at=START + 5),
        "lives": memory("d", expires_at=START + 6),
    }
    await put(database, *left.values())

    found = await store.expected_entries.by_id(TEXT, [row.id for row in left.values()])

    assert [found[row.id].changed_at - START for row in left.values()] == [3, 4, 5, 0]


async def test_rows_of_a_bucket(store: SqlStore, database: Database, clock: FakeClock) -> None:
    row, other = memory("a"), memory("b")
    gone = memory("c", reason=Reason.FORGOTTEN, deleted_at=START, text_revision=1, vector_revision=1)
    await put(database, row, other, gone)

    found = await store.expected_entries.rows_in(TEXT, "", LAST, [bucket(row.id), bucket(gone.id)])

    assert row.id in {each.memory_id for each in found}
    assert gone.id not in {each.memory_id for each in found}, "no entry is due for it, and it is marked"
    assert bucket(other.id) in (bucket(row.id), bucket(gone.id)) or other.id not in {each.memory_id for each in found}


async def test_what_is_not_marked(store: SqlStore, database: Database, clock: FakeClock) -> None:
    fresh, half, plain, failed, gone, old = (memory(each) for each in "abcdef")
    await put(
        database,
        fresh,
        half._replace(text_revision=1),
        plain._replace(wants_vector=False),
        failed._replace(text_error_revision=1, vector_error_revision=1),
        gone._replace(reason=Reason.FORGOTTEN, deleted_at=START, wants_vector=False, revision=2, text_revision=1),
        old._replace(text_revision=1, vector_revision=1),
    )

    text = {row.memory_id for row in await store.expected_entries.unmarked(TEXT, "", LAST, 10)}
    vector = {row.memory_id for row in await store.expected_entries.unmarked(VECTORS, "", LAST, 10)}

    assert text == {fresh.id, plain.id, gone.id}
    assert vector == {fresh.id, half.id, gone.id}
    assert len(await store.expected_entries.unmarked(TEXT, "", LAST, 2)) == 2
    assert await store.expected_entries.unmarked(replace(TEXT, status="building"), "", LAST, 10) == ()


async def test_announced_again(store: SqlStore, database: Database) -> None:
    row, other = memory("a", revision=3, version=2), memory("b")
    await put(database, row, other)

    assert await store.outbox.announce_again([row.id, memory().id]) == 1
    assert await store.outbox.announce_again([other.id], "next") == 1

    first, second = await reindexed(database)
    assert (first["memory_id"], first["revision"], first["version"], first["change"]) == (row.id, 3, 2, "reindex")
    assert (first["generation"], second["generation"]) == (None, "next")


async def test_lifted_above_what_was_seen(store: SqlStore, database: Database) -> None:
    behind, ahead = memory("a", revision=2, text_revision=2), memory("b", revision=9)
    await put(database, behind, ahead)

    assert await store.index_marks.lift({behind.id: 5, ahead.id: 5}) == 1

    found = await store.memories.rows([behind.id, ahead.id])
    assert (found[behind.id].revision, found[ahead.id].revision) == (6, 9)
    assert (behind.id, 6) in {(each["memory_id"], each["revision"]) for each in await reindexed(database)}
    assert await store.index_marks.mark(IndexKind.TEXT, [Mark(behind.id, 2)]) == {behind.id}


async def test_all_lifted(store: SqlStore, database: Database) -> None:
    low, high = memory("a", revision=2), memory("b", revision=50)
    await put(database, low, high)

    assert await store.index_marks.lift_all(20, "", LAST) == 1
    assert await store.index_marks.lift_all(20, "", LAST) == 0

    found = await store.memories.rows([low.id, high.id])
    assert (found[low.id].revision, found[high.id].revision) == (21, 50)
    assert await reindexed(database) == []
