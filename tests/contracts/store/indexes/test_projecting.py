"""Contract of `ports.index_entries.IndexMarks`, on every database."""

from itertools import permutations
from typing import Any

import pytest

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.ids import uuid7
from openbrain.domain.memory import Memory, Reason, State
from openbrain.ports.store.generations import IndexKind
from openbrain.ports.store.index_entries import Mark
from tests.support.store.direct_rows import put
from tests.support.store.fixtures import START, FakeClock, memory

TEXT, VECTOR = IndexKind.TEXT, IndexKind.VECTOR
NOTHING: frozenset[str] = frozenset()


async def stored(store: SqlStore, database: Database, **changes: Any) -> Memory:
    row = memory(**changes)
    await put(database, row)
    return row


async def now(store: SqlStore, row: Memory) -> Memory:
    return (await store.memories.rows([row.id]))[row.id]


@pytest.mark.parametrize("order", list(permutations([TEXT, VECTOR])))
async def test_the_second_mark_makes_it_indexed(
    store: SqlStore, database: Database, clock: FakeClock, order: tuple[IndexKind, IndexKind]
) -> None:
    row = await stored(store, database, revision=3, version=1)
    first, second = order

    clock.advance(1)
    assert await store.index_marks.mark(first, [Mark(row.id, 3)]) == NOTHING
    half = await now(store, row)
    assert half.indexed_at is None
    assert not half.indexed
    clock.advance(1)
    assert await store.index_marks.mark(second, [Mark(row.id, 3)]) == NOTHING

    whole = await now(store, row)
    assert (whole.text_revision, whole.vector_revision, whole.indexed_at) == (3, 3, START + 2)
    assert whole.state(clock.now()) is State.INDEXED
    assert (whole.revision, whole.version, whole.updated_at) == (3, 1, row.updated_at)


async def test_text_alone_is_enough_where_no_vector_is_wanted(
    store: SqlStore, database: Database, clock: FakeClock
) -> None:
    row = await stored(store, database, wants_vector=False)

    await store.index_marks.mark(TEXT, [Mark(row.id, 1)])

    assert (await now(store, row)).indexed_at == START


@pytest.mark.parametrize("order", list(permutations([TEXT, VECTOR])))
async def test_a_repeated_mark_changes_nothing(
    store: SqlStore, database: Database, clock: FakeClock, order: tuple[IndexKind, IndexKind]
) -> None:
    row = await stored(store, database)
    for kind in order:
        await store.index_marks.mark(kind, [Mark(row.id, 1)])
    once = await now(store, row)
    clock.advance(10)

    for kind in order:
        assert await store.index_marks.mark(kind, [Mark(row.id, 1)]) == NOTHING

    assert await now(store, row) == once


@pytest.mark.parametrize("order", list(permutations([TEXT, VECTOR])))
async def test_a_new_revision_is_indexed_anew(
    store: SqlStore, database: Database, clock: FakeClock, order: tuple[IndexKind, IndexKind]
) -> None:
    row = await stored(store, database, revision=2, text_revision=1, vector_revision=1, indexed_at=START - 9)
    first, second = order

    await store.index_marks.mark(first, [Mark(row.id, 2)])
    assert (await now(store, row)).indexed_at == START - 9
    await store.index_marks.mark(second, [Mark(row.id, 2)])

    assert (await now(store, row)).indexed_at == START


async def test_a_mark_of_another_revision_tells_that_the_row_moved_on(store: SqlStore, database: Database) -> None:
    row = await stored(store, database, revision=5, text_revision=4, text_error="so", text_error_revision=5)

    assert await store.index_marks.mark(TEXT, [Mark(row.id, 4)]) == {row.id}
    assert await store.index_marks.mark(TEXT, [Mark(row.id, 6)]) == {row.id}

    assert await now(store, row) == row


async def test_neighbours_are_marked_beside_what_moved_on(store: SqlStore, database: Database) -> None:
    same, moved, other = (memory(str(number), revision=number) for number in (1, 2, 3))
    await put(database, same, moved, other)
    unknown = uuid7(START)

    answer = await store.index_marks.mark(
        TEXT, [Mark(same.id, 1), Mark(moved.id, 1), Mark(other.id, 3), Mark(unknown, 1)]
    )

    assert answer == {moved.id}
    assert [(await now(store, row)).text_revision for row in (same, moved, other)] == [1, 0, 3]


async def test_of_several_marks_of_a_memory_the_highest_counts(store: SqlStore, database: Database) -> None:
    row = await stored(store, database, revision=2)

    assert await store.index_marks.mark(VECTOR, [Mark(row.id, 2), Mark(row.id, 1), Mark(row.id, 2)]) == NOTHING
    assert (await now(store, row)).vector_revision == 2


async def test_no_marks_and_unknown_ones_are_nothing(store: SqlStore) -> None:
    assert await store.index_marks.mark(TEXT, []) == NOTHING
    assert await store.index_marks.mark(TEXT, [Mark(uuid7(START), 1)]) == NOTHING


async def test_more_marks_than_one_statement_takes(store: SqlStore, database: Database) -> None:
    rows = [memory(str(number)) for number in range(1100)]
    moved = [memory("moved", revision=2) for _ in range(3)]
    await put(database, *rows, *moved)

    answer = await store.index_marks.mark(TEXT, [Mark(row.id, 1) for row in (*rows, *moved)])

    assert answer == {row.id for row in moved}
    assert all(row.text_revision == 1 for row in (await store.memories.rows([row.id for row in rows])).values())


async def test_a_removed_memory_is_marked_too(store: SqlStore, database: Database) -> None:
    row = await stored(store, database, revision=2, deleted_at=START, reason=Reason.FORGOTTEN)

    assert await store.index_marks.mark(TEXT, [Mark(row.id, 2)]) == NOTHING
    assert (await now(store, row)).text_revision == 2


@pytest.mark.parametrize("kind", list(IndexKind))
async def test_a_failure_stays_until_its_own_half_succeeds(
    store: SqlStore, database: Database, clock: FakeClock, kind: IndexKind
) -> None:
    row = await stored(store, database, revision=4)
    other = VECTOR if kind is TEXT else TEXT

    await store.index_marks.record_failure(kind, row.id, "too many fields")
    failed = await now(store, row)
    assert failed.state(clock.now()) is State.FAILED
    assert (getattr(failed, f"{kind}_error"), getattr(failed, f"{kind}_error_revision")) == ("too many fields", 4)

    await store.index_marks.mark(other, [Mark(row.id, 4)])
    assert (await now(store, row)).state(clock.now()) is State.FAILED
    await store.index_marks.mark(kind, [Mark(row.id, 4)])

    whole = await now(store, row)
    assert (getattr(whole, f"{kind}_error"), getattr(whole, f"{kind}_error_revision")) == ("", 0)
    assert whole.state(clock.now()) is State.INDEXED


@pytest.mark.parametrize(
    ("error", "kept"),
    [("ä😀" * 5000, "ä😀" * 500), ("lone \ud800 half", "lone ? half"), ("100% of 'it' :x", "100% of 'it' :x")],
)
async def test_any_message_fits(store: SqlStore, database: Database, error: str, kept: str) -> None:
    row = await stored(store, database)

    await store.index_marks.record_failure(TEXT, row.id, error)
    await store.index_marks.record_failure(TEXT, uuid7(START), error)

    assert (await now(store, row)).text_error == kept
