"""The whole fence, from a database row to each index: late events and late writers change nothing."""

from array import array
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path

import pytest

from openbrain.adapters.sql.engine.opening import open_database
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.access.visibility import Criteria, visible
from openbrain.domain.ids import point_id
from openbrain.domain.memory import Memory, State
from openbrain.ports.index import (
    TextIndex,
    Tombstone,
    VectorEntry,
    VectorIndex,
)
from openbrain.ports.store.generations import Generation, IndexKind
from openbrain.ports.store.index_entries import Embedded
from openbrain.ports.store.writes import Edit
from openbrain_indexer.handlers.projection import Writable
from openbrain_indexer.handlers.text import project_text, text_entry
from openbrain_indexer.handlers.vectors import project_vector, vector_entries
from tests.support.store.fixtures import FakeClock, origin, viewer, write
from tests.support.store.schema import make_tables
from tests.support.waiting import PATIENCE_S

MODEL = "toy-0123456789ab-4-p1s1"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def store(tmp_path: Path, clock: FakeClock) -> AsyncIterator[SqlStore]:
    database = open_database(f"sqlite+aiosqlite:///{tmp_path}/truth.db", pool=2, lock_wait_s=PATIENCE_S)
    await database.write(make_tables)
    yield SqlStore(database, clock)
    await database.close()


def unit(place: int) -> "array[float]":
    return array("f", [1.0 if place % 4 == axis else 0.0 for axis in range(4)])


async def stored(store: SqlStore, content: str = "the lighthouse keeper counts ships") -> Memory:
    outcome = (await store.writes.remember([write(content)]))[0]
    assert outcome.memory is not None
    return outcome.memory


async def embed(store: SqlStore, memory: Memory, passages: int) -> None:
    """Give the memory's current revision `passages` passages, as the embedder does."""
    row = (await store.memories.rows([memory.id]))[memory.id]
    hashes = tuple(f"{row.revision:032d}{number:032d}" for number in range(passages))
    vectors = {each: unit(number) for number, each in enumerate(hashes)}
    embedded = Embedded(memory_id=row.id, workspace_id=row.workspace_id, revision=row.revision, input_hashes=hashes)
    await store.vectors.save(vectors, [embedded], MODEL)


async def row_of(store: SqlStore, memory: Memory) -> Memory:
    return (await store.memories.rows([memory.id]))[memory.id]


async def text_finds(index: TextIndex, name: str, words: str, clock: FakeClock) -> list[str]:
    condition = visible(viewer(), Criteria(), clock.now())
    return [hit.memory_id for hit in await index.search(name, words, condition, 10)]


async def vector_finds(index: VectorIndex, name: str, clock: FakeClock, place: int = 0) -> list[str]:
    condition = visible(viewer(), Criteria(), clock.now())
    return [hit.memory_id for hit in await index.search(name, unit(place), condition, 10)]


class Both:
    """Projects one memory into the index under test."""

    def __init__(self, store: SqlStore, clock: FakeClock) -> None:
        self.store, self.clock = store, clock

    async def text(self, memory: Memory, index: TextIndex, name: str) -> Mapping[str, Exception]:
        generation = Generation(kind=IndexKind.TEXT, name=name, model="", dimensions=0, builder="", status="serving")
        return await project_text([memory.id], store=self.store, index=index, generations=[generation])

    async def vector(self, memory: Memory, index: Writable[VectorEntry], name: str) -> Mapping[str, Exception]:
        generation = Generation(
            kind=IndexKind.VECTOR, name=name, model=MODEL, dimensions=4, builder="", status="serving"
        )
        return await project_vector([memory.id], store=self.store, index=index, generations=[generation])


@pytest.fixture
def project(store: SqlStore, clock: FakeClock) -> Both:
    return Both(store, clock)


async def test_a_late_old_event_never_resurrects_a_forgotten_memory_in_text(
    store: SqlStore, text_index: tuple[TextIndex, str], project: Both, clock: FakeClock
) -> None:
    index, name = text_index
    memory = await stored(store)
    await project.text(memory, index, name)
    assert await text_finds(index, name, "lighthouse", clock) == [memory.id]

    await store.writes.forget(memory.id, viewer(), origin(), "")
    await project.text(memory, index, name)
    await project.text(memory, index, name)  # the old `memory.stored`, replayed

    assert await text_finds(index, name, "lighthouse", clock) == []
    assert (await index.read(name, [memory.id]))[memory.id].tombstone


async def test_a_writer_stopped_between_read_and_write_never_resurrects_in_text(
    store: SqlStore, text_index: tuple[TextIndex, str], project: Both, clock: FakeClock
) -> None:
    index, name = text_index
    memory = await stored(store)
    read_before = text_entry(await row_of(store, memory), index.builder)
    await store.writes.forget(memory.id, viewer(), origin(), "")
    await project.text(memory, index, name)

    assert await index.write(name, [read_before]) == {}

    assert await text_finds(index, name, "lighthouse", clock) == []


async def test_a_late_old_event_never_resurrects_a_forgotten_memory_in_vectors(
    store: SqlStore, vector_index: tuple[VectorIndex, str], project: Both, clock: FakeClock
) -> None:
    index, name = vector_index
    memory = await stored(store)
    await embed(store, memory, 2)
    await project.vector(memory, index, name)
    assert await vector_finds(index, name, clock) == [memory.id]

    await store.writes.forget(memory.id, viewer(), origin(), "")
    await project.vector(memory, index, name)
    await project.vector(memory, index, name)

    assert await vector_finds(index, name, clock) == []
    standing = await index.read(name, [point_id(memory.id, number) for number in range(2)])
    assert [each.tombstone for each in standing.values()] == [True, True]


async def test_a_writer_stopped_between_read_and_write_never_resurrects_in_vectors(
    store: SqlStore, vector_index: tuple[VectorIndex, str], project: Both, clock: FakeClock
) -> None:
    index, name = vector_index
    memory = await stored(store)
    await embed(store, memory, 3)
    row = await row_of(store, memory)
    read_before = vector_entries(row, (await store.vectors.passages([row.id], MODEL))[row.id], index.builder)
    await store.writes.forget(memory.id, viewer(), origin(), "")
    await project.vector(memory, index, name)

    assert await index.write(name, read_before) == {}

    for place in range(3):
        assert await vector_finds(index, name, clock, place) == []


async def test_passages_that_vanished_stay_away_also_from_a_late_writer(
    store: SqlStore, vector_index: tuple[VectorIndex, str], project: Both, clock: FakeClock
) -> None:
    index, name = vector_index
    memory = await stored(store)
    await embed(store, memory, 3)
    old_row = await row_of(store, memory)
    old = vector_entries(old_row, (await store.vectors.passages([memory.id], MODEL))[memory.id], index.builder)
    await project.vector(memory, index, name)
    await store.writes.update(Edit(memory_id=memory.id, viewer=viewer(), origin=origin(), content="now it is short"))
    await embed(store, memory, 1)
    await project.vector(memory, index, name)

    await index.write(name, old)

    standing = await index.read(name, [point_id(memory.id, number) for number in range(3)])
    assert [standing[point_id(memory.id, number)].tombstone for number in range(3)] == [False, True, True]
    assert {each.revision for each in standing.values()} == {(await row_of(store, memory)).revision}


async def test_new_payload_is_never_paired_with_old_vectors(
    store: SqlStore, vector_index: tuple[VectorIndex, str], project: Both
) -> None:
    index, name = vector_index
    memory = await stored(store)
    await embed(store, memory, 1)
    await store.writes.update(Edit(memory_id=memory.id, viewer=viewer(), origin=origin(), tags=("new",)))

    assert await project.vector(memory, index, name) == {}

    assert await index.read(name, [memory.id]) == {}
    assert (await row_of(store, memory)).vector_revision == 0


async def test_a_rewrite_at_an_equal_version_with_a_higher_revision_lands(
    store: SqlStore, text_index: tuple[TextIndex, str], project: Both, clock: FakeClock
) -> None:
    index, name = text_index
    memory = await stored(store)
    await project.text(memory, index, name)
    row = await row_of(store, memory)

    def changed(revision: int) -> Memory:
        return row._replace(content="zebra", revision=revision)

    await index.write(name, [text_entry(changed(row.revision + 1), index.builder)])

    assert await text_finds(index, name, "zebra", clock) == [memory.id]
    assert row.version == 1


async def test_it_is_indexed_only_when_both_hold_this_revision(
    store: SqlStore,
    text_index: tuple[TextIndex, str],
    tmp_path: Path,
    project: Both,
    clock: FakeClock,
) -> None:
    index, name = text_index
    memory = await stored(store)
    states = [(await row_of(store, memory)).state(clock.now())]
    await project.text(memory, index, name)
    states.append((await row_of(store, memory)).state(clock.now()))
    await embed(store, memory, 1)
    await project.vector(memory, Accepting(), "any")
    states.append((await row_of(store, memory)).state(clock.now()))
    await store.writes.update(Edit(memory_id=memory.id, viewer=viewer(), origin=origin(), tags=("new",)))
    states.append((await row_of(store, memory)).state(clock.now()))

    assert states == [State.CREATED, State.PENDING_EMBED, State.INDEXED, State.STALE]


class Accepting:
    """A vector index that accepts everything; `meanwhile` runs between its write and the mark."""

    builder = "accepting"
    at_once = 1

    def __init__(self, *meanwhile: Callable[[], Awaitable[object]]) -> None:
        self.meanwhile = list(meanwhile)
        self.written: list[VectorEntry | Tombstone] = []
        self.visible: set[bool] = set()

    async def write(
        self, name: str, entries: Sequence[VectorEntry | Tombstone], *, visible: bool = True
    ) -> Mapping[str, Exception]:
        self.written.extend(entries)
        self.visible.add(visible)
        if self.meanwhile:
            await self.meanwhile.pop(0)()
        return {}


async def test_a_row_that_moves_on_while_it_is_written_is_written_again(store: SqlStore, project: Both) -> None:
    memory = await stored(store)
    await embed(store, memory, 2)

    async def forgotten() -> None:
        await store.writes.forget(memory.id, viewer(), origin(), "")

    index = Accepting(forgotten)
    await project.vector(memory, index, "any")

    row = await row_of(store, memory)
    assert isinstance(index.written[0], VectorEntry)
    assert [(type(each), each.revision) for each in index.written[2:]] == [(Tombstone, row.revision)] * 2
    assert row.vector_revision == row.revision


async def test_an_unknown_row_is_acknowledged(store: SqlStore, project: Both) -> None:
    memory = await stored(store)
    ghost = Memory(id="0192aaaa-0000-7000-8000-00000000dead", workspace_id="w1", content="", type=memory.type)

    assert await project.vector(ghost, Accepting(), "any") == {}
