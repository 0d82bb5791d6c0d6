"""Contract of `ports.truth.Projecting`, on every database."""

from itertools import permutations
from typing import Any

import pytest

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.store import SqlTruth
from openbrain.domain.ids import uuid7
from openbrain.domain.memory import Memory, Reason, State
from openbrain.ports.generations import IndexKind
from openbrain.ports.store import Mark
from tests.support.store.direct_rows import put
from tests.support.store.fixtures import START, FakeClock, memory

TEXT, VECTOR = IndexKind.TEXT, IndexKind.VECTOR
NOTHING: frozenset[str] = frozenset()


async def stored(truth: SqlTruth, database: Database, **changes: Any) -> Memory:
    row = memory(**changes)
    await put(database, row)
    return row


async def now(truth: SqlTruth, row: Memory) -> Memory:
    return (await truth.rows([row.id]))[row.id]


@pytest.mark.parametrize("order", list(permutations([TEXT, VECTOR])))
async def test_the_second_mark_makes_it_indexed(
    truth: SqlTruth, database: Database, clock: FakeClock, order: tuple[IndexKind, IndexKind]
) -> None:
    row = await stored(truth, database, revision=3, version=1)
    first, second = order

    clock.advance(1)
    assert await truth.mark(first, [Mark(row.id, 3)]) == NOTHING
    half = await now(truth, row)
    assert half.indexed_at is None
    assert not half.indexed
    clock.advance(1)
    assert await truth.mark(second, [Mark(row.id, 3)]) == NOTHING

    whole = await now(truth, row)
    assert (whole.text_revision, whole.vector_revision, whole.indexed_at) == (3, 3, START + 2)
    assert whole.state(clock.now()) is State.INDEXED
    assert (whole.revision, whole.version, whole.updated_at) == (3, 1, row.updated_at)


async def test_text_alone_is_enough_where_no_vector_is_wanted(
    truth: SqlTruth, database: Database, clock: FakeClock
) -> None:
    row = await stored(truth, database, wants_vector=False)

    await truth.mark(TEXT, [Mark(row.id, 1)])

    assert (await now(truth, row)).indexed_at == START


@pytest.mark.parametrize("order", list(permutations([TEXT, VECTOR])))
async def test_a_repeated_mark_changes_nothing(
    truth: SqlTruth, database: Database, clock: FakeClock, order: tuple[IndexKind, IndexKind]
) -> None:
    row = await stored(truth, database)
    for kind in order:
        await truth.mark(kind, [Mark(row.id, 1)])
    once = await now(truth, row)
    clock.advance(10)

    for kind in order:
        assert await truth.mark(kind, [Mark(row.id, 1)]) == NOTHING

    assert await now(truth, row) == once


@pytest.mark.parametrize("order", list(permutations([TEXT, VECTOR])))
async def test_a_new_revision_is_indexed_anew(
    truth: SqlTruth, database: Database, clock: FakeClock, order: tuple[IndexKind, IndexKind]
) -> None:
    row = await stored(truth, database, revision=2, text_revision=1, vector_revision=1, indexed_at=START - 9)
    first, second = order

    await truth.mark(first, [Mark(row.id, 2)])
    assert (await now(truth, row)).indexed_at == START - 9
    await truth.mark(second, [Mark(row.id, 2)])

    assert (await now(truth, row)).indexed_at == START


async def test_a_mark_of_another_revision_tells_that_the_row_moved_on(truth: SqlTruth, database: Database) -> None:
    row = await stored(truth, database, revision=5, text_revision=4, text_error="so", text_error_revision=5)

    assert await truth.mark(TEXT, [Mark(row.id, 4)]) == {row.id}
    assert await truth.mark(TEXT, [Mark(row.id, 6)]) == {row.id}

    assert await now(truth, row) == row


async def test_neighbours_are_marked_beside_what_moved_on(truth: SqlTruth, database: Database) -> None:
    same, moved, other = (memory(str(number), revision=number) for number in (1, 2, 3))
    await put(database, same, moved, other)
    unknown = uuid7(START)

    answer = await truth.mark(TEXT, [Mark(same.id, 1), Mark(moved.id, 1), Mark(other.id, 3), Mark(unknown, 1)])

    assert answer == {moved.id}
    assert [(await now(truth, row)).text_revision for row in (same, moved, other)] == [1, 0, 3]


async def test_of_several_marks_of_a_memory_the_highest_counts(truth: SqlTruth, database: Database) -> None:
    row = await stored(truth, database, revision=2)

    assert await truth.mark(VECTOR, [Mark(row.id, 2), Mark(row.id, 1), Mark(row.id, 2)]) == NOTHING
    assert (await now(truth, row)).vector_revision == 2


async def test_no_marks_and_unknown_ones_are_nothing(truth: SqlTruth) -> None:
    assert await truth.mark(TEXT, []) == NOTHING
    assert await truth.mark(TEXT, [Mark(uuid7(START), 1)]) == NOTHING


async def test_more_marks_than_one_statement_takes(truth: SqlTruth, database: Database) -> None:
    rows = [memory(str(number)) for number in range(1100)]
    moved = [memory("moved", revision=2) for _ in range(3)]
    await put(database, *rows, *moved)

    answer = await truth.mark(TEXT, [Mark(row.id, 1) for row in (*rows, *moved)])

    assert answer == {row.id for row in moved}
    assert all(row.text_revision == 1 for row in (await truth.rows([row.id for row in rows])).values())


async def test_a_removed_memory_is_marked_too(truth: SqlTruth, database: Database) -> None:
    row = await stored(truth, database, revision=2, deleted_at=START, reason=Reason.FORGOTTEN)

    assert await truth.mark(TEXT, [Mark(row.id, 2)]) == NOTHING
    assert (await now(truth, row)).text_revision == 2


@pytest.mark.parametrize("kind", list(IndexKind))
async def test_a_failure_stays_until_its_own_half_succeeds(
    truth: SqlTruth, database: Database, clock: FakeClock, kind: IndexKind
) -> None:
    row = await stored(truth, database, revision=4)
    other = VECTOR if kind is TEXT else TEXT

    await truth.record_failure(kind, row.id, "too many fields")
    failed = await now(truth, row)
    assert failed.state(clock.now()) is State.FAILED
    assert (getattr(failed, f"{kind}_error"), getattr(failed, f"{kind}_error_revision")) == ("too many fields", 4)

    await truth.mark(other, [Mark(row.id, 4)])
    assert (await now(truth, row)).state(clock.now()) is State.FAILED
    await truth.mark(kind, [Mark(row.id, 4)])

    whole = await now(truth, row)
    assert (getattr(whole, f"{kind}_error"), getattr(whole, f"{kind}_error_revision")) == ("", 0)
    assert whole.state(clock.now()) is State.INDEXED


@pytest.mark.parametrize(
    ("error", "kept"),
    [("ä😀" * 5000, "ä😀" * 500), ("lone \ud800 half", "lone ? half"), ("100% of 'it' :x", "100% of 'it' :x")],
)
async def test_any_message_fits(truth: SqlTruth, database: Database, error: str, kept: str) -> None:
    row = await stored(truth, database)

    await truth.record_failure(TEXT, row.id, error)
    await truth.record_failure(TEXT, uuid7(START), error)

    assert (await now(truth, row)).text_error == kept
