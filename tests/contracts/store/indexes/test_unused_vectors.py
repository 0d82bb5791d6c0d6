"""Removing unused vectors scans all passages in small steps, and notices passages that are added meanwhile."""

from array import array
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import pytest
from sqlalchemy import Connection, event, update
from sqlalchemy.engine import Engine

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.indexes import unused_vectors
from openbrain.adapters.sql.schema.tables import embeddings
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.errors import TryLater
from openbrain.domain.ids import content_hash, uuid7
from openbrain.domain.memory import Memory, Reason
from openbrain.ports.store.generations import IndexKind
from openbrain.ports.store.index_entries import Embedded, Mark
from openbrain.ports.store.operations import TRACES, Operation
from openbrain.ports.store.tenants import CLOSE
from openbrain.ports.store.writes import PURGE
from tests.support.store.direct_rows import put
from tests.support.store.fixtures import START, memory, origin, rows, stored, viewer

T = TypeVar("T")
MODEL = "m"
STEP = 4
LONELY = content_hash("lonely")
"""An input hash that has a vector and no passage."""
VECTOR = array("f", [0.5, 0.25])
MARKED = update(embeddings).values(created_at=-5)
"""Sets the mark of another scan."""


class KilledError(Exception):
    """Simulates the end of the process."""


class Beside:
    """The same database, but something happens between the first step of the passage scan and the next."""

    def __init__(self, database: Database, happens: Callable[[], Awaitable[object]]) -> None:
        self._database, self._happens = database, happens
        self.write = database.write

    async def read(self, fn: Callable[[Connection], T]) -> T:
        found = await self._database.read(fn)
        if isinstance(found, unused_vectors.Used) and self._happens is not None:
            happens, self._happens = self._happens, None  # type: ignore[assignment]
            await happens()
        return found


def of(row: Memory, *hashes: str) -> Embedded:
    return Embedded(memory_id=row.id, workspace_id=row.workspace_id, revision=row.revision, input_hashes=hashes)


def hashed(row: Memory) -> str:
    return content_hash(row.id)


async def standing(database: Database) -> set[str]:
    return {each["input_hash"] for each in await rows(database, "SELECT input_hash FROM embeddings")}


@pytest.fixture
async def many(store: SqlStore, database: Database, monkeypatch: pytest.MonkeyPatch) -> list[Memory]:
    """Memories with a vector each, more than one step reads, in the order of their ids; and one unused vector."""
    monkeypatch.setattr(unused_vectors, "LOOKED", STEP)
    made = sorted((memory(str(number), now=START + number) for number in range(3 * STEP)), key=lambda each: each.id)
    await put(database, *made)
    await store.vectors.save({hashed(row): VECTOR for row in made}, [of(row, hashed(row)) for row in made], MODEL)
    await store.vectors.save({LONELY: VECTOR}, [], MODEL)
    return made


@contextmanager
def noted() -> Iterator[list[tuple[Connection, str]]]:
    """Collect the executed statements with their connections."""
    said: list[tuple[Connection, str]] = []

    def say(*call: Any) -> None:
        said.append((call[0], " ".join(call[2].split())))

    event.listen(Engine, "before_cursor_execute", say)
    try:
        yield said
    finally:
        event.remove(Engine, "before_cursor_execute", say)


async def test_all_passages_are_looked_through_in_small_steps_with_nothing_locked(
    store: SqlStore, database: Database, many: list[Memory]
) -> None:
    inputs = [LONELY, hashed(many[0]), hashed(many[-1]), "unknown"]

    with noted() as said:
        assert await store.vectors.drop_embeddings(inputs) == 1

    assert await standing(database) == {hashed(row) for row in many}
    looks = [(who, what) for who, what in said if "memory_passages.input_hash IN" in what]
    assert len(looks) == len(many) // STEP
    assert all("memory_id > " in what and "memory_id <= " in what for _, what in looks)
    writers = [who for who, what in said if not what.startswith(("SELECT", "BEGIN"))]
    assert writers
    assert not any(who is each for who, _ in looks for each in writers)
    found = await rows(database, "SELECT MIN(created_at) AS least FROM embeddings")
    assert found[0]["least"] >= 0, "no mark is left"


async def test_where_none_has_a_vector_nothing_is_looked_through(store: SqlStore, many: list[Memory]) -> None:
    """So of many concurrent erasures, all but the first have little to do."""
    assert many
    with noted() as said:
        assert await store.vectors.drop_embeddings(["unknown", content_hash("neither")]) == 0
    assert "memory_passages" not in str(said)


async def test_one_look_serves_all_purges_that_wait(store: SqlStore, database: Database, many: list[Memory]) -> None:
    """Otherwise each of many purges would scan everything."""
    assert many
    free = [content_hash(f"free {number}") for number in range(3)]
    await store.vectors.save(dict.fromkeys(free, VECTOR), [], MODEL)
    for number, each in enumerate(free):
        request = {"ids": [], TRACES: {"inputs": [each]}}
        asked = Operation(id=uuid7(START + number), workspace_id="w1", kind=PURGE, actor="ada", request=request)
        await store.operations.start_operation(asked)

    assert await store.vectors.drop_embeddings(free[:1]) == len(free)
    with noted() as said:
        assert [await store.vectors.drop_embeddings([each]) for each in free[1:]] == [0, 0]

    assert "memory_passages" not in str(said)
    assert await standing(database) == {LONELY, *(hashed(row) for row in many)}


@pytest.mark.parametrize("made_again", [False, True])
async def test_who_begins_to_use_one_behind_the_look_keeps_it(
    store: SqlStore, database: Database, many: list[Memory], *, made_again: bool
) -> None:
    first = many[0]
    vectors = {LONELY: VECTOR} if made_again else {}
    beside: Any = Beside(database, lambda: store.vectors.save(vectors, [of(first, LONELY)], MODEL))

    assert await unused_vectors.drop(beside, [LONELY]) == 0

    assert set(await store.vectors.passages([first.id], MODEL)) == {first.id}


async def test_one_look_does_not_take_another_s_marks_for_its_own(
    store: SqlStore, database: Database, many: list[Memory]
) -> None:
    first = many[0]

    async def used_and_marked_again() -> None:
        await store.vectors.save({}, [of(first, LONELY)], MODEL)
        await database.write(partial(unused_vectors._run, MARKED, [LONELY]))

    beside: Any = Beside(database, used_and_marked_again)

    with pytest.raises(TryLater):
        await unused_vectors.drop(beside, [LONELY])
    assert await unused_vectors.drop(database, [LONELY]) == 0
    assert set(await store.vectors.passages([first.id], MODEL)) == {first.id}


async def test_no_look_relies_on_another_that_may_be_killed(
    store: SqlStore, database: Database, many: list[Memory]
) -> None:
    assert many
    beside: Any = Beside(database, lambda: database.write(partial(unused_vectors._run, MARKED, [LONELY])))

    with pytest.raises(TryLater):
        await unused_vectors.drop(beside, [LONELY])

    assert await store.vectors.drop_embeddings([LONELY]) == 1


async def test_a_look_that_was_killed_harms_nobody_and_is_done_again(
    store: SqlStore, database: Database, many: list[Memory]
) -> None:
    async def killed() -> None:
        raise KilledError

    beside: Any = Beside(database, killed)
    with pytest.raises(KilledError):
        await unused_vectors.drop(beside, [LONELY, hashed(many[-1])])

    assert await store.vectors.known([LONELY, hashed(many[-1])], MODEL) == {LONELY, hashed(many[-1])}
    await store.vectors.save({}, [of(many[1], hashed(many[-1]))], MODEL)
    assert set(await store.vectors.passages([many[1].id, many[-1].id], MODEL)) == {many[1].id, many[-1].id}
    assert await store.vectors.drop_embeddings([LONELY, hashed(many[-1])]) == 1
    assert await standing(database) == {hashed(row) for row in many}


@pytest.mark.parametrize("gone", [False, True])
async def test_what_is_embedded_after_its_end_is_left_to_a_purge(
    store: SqlStore, database: Database, *, gone: bool
) -> None:
    """In the same transaction, so that a kill leaves no vector behind. `gone` deletes the whole row."""
    late = await stored(store.writes, "late")
    await store.writes.erase(late.id, viewer(), origin(), "")
    if gone:
        await database.write(lambda connection: connection.exec_driver_sql("DELETE FROM memories").rowcount)

    await store.vectors.save({LONELY: VECTOR}, [of(late, LONELY)], MODEL)

    workspace = "system" if gone else "w1"
    (asked,) = [
        each
        for each in await store.operations.operations(workspace, 10, kinds={PURGE})
        if each.request[TRACES]["inputs"] == [LONELY]
    ]
    assert await store.vectors.drop_embeddings(asked.request[TRACES]["inputs"]) == 1
    assert not await rows(database, "SELECT 1 FROM memory_passages")


async def test_what_was_only_forgotten_is_left_alone(store: SqlStore, database: Database) -> None:
    row = memory(deleted_at=START, reason=Reason.FORGOTTEN)
    await put(database, row)

    await store.vectors.save({LONELY: VECTOR}, [of(row, LONELY)], MODEL)

    assert await store.operations.operations("w1", 10, kinds={PURGE}) == []


async def test_a_tenant_takes_its_vectors_along_and_leaves_what_others_use(
    store: SqlStore, database: Database, many: list[Memory]
) -> None:
    """Vectors are removed before the tenant's rows, which identify them, so that a kill in between loses nothing."""
    theirs = memory("theirs", workspace_id="w2")
    await put(database, theirs)
    await store.vectors.save({}, [of(theirs, hashed(many[0]))], MODEL)
    await database.write(
        lambda connection: (
            connection.exec_driver_sql(
                f"INSERT INTO workspaces (id, name, created_at) VALUES ('w1', 'w1', {START})"
            ).rowcount
        )
    )
    asked = Operation(id=uuid7(START), workspace_id="system", kind=CLOSE, actor="op", request={"workspace": "w1"})
    await store.workspaces.close_workspace("w1", asked)
    assert (await store.workspaces.erase_all("w1", 100)).rows == len(many)
    found = await rows(database, "SELECT id, revision FROM memories WHERE workspace_id = 'w1'")
    for kind in IndexKind:
        await store.index_marks.mark(kind, [Mark(each["id"], each["revision"]) for each in found])

    async def killed(*_: object) -> None:
        raise KilledError

    beside: Any = Beside(database, killed)
    with pytest.raises(KilledError):
        await SqlStore(beside, store._clock).workspaces.drop_rows("w1", 100)
    dropped = [(await store.workspaces.drop_rows("w1", 5)).rows for _ in range(4)]

    assert dropped == [5, 5, 2, 0]
    assert await standing(database) == {hashed(many[0]), LONELY}
    assert {each["memory_id"] for each in await rows(database, "SELECT memory_id FROM memory_passages")} == {theirs.id}
