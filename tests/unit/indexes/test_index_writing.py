"""A process trusts what it knows of generations until its lease ends, and leaves what it can't write to others."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from openbrain.adapters.sql.engine.opening import open_database
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.errors import NeverRetry, OpenBrainError, SetupError, TryLater
from openbrain.ports.store.generations import Generation, IndexKind
from openbrain.usecases.indexes.index_writers import WritableIndexes, writable, write_to_all
from openbrain.usecases.indexes.serving_indexes import LazyReady
from tests.support.store.fixtures import FakeClock
from tests.support.store.schema import make_tables

FIRST = Generation(kind=IndexKind.TEXT, name="t-1", model="", dimensions=0, builder="b1", status="serving")


class Seconds:
    """A monotonic clock that the test advances."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def store(tmp_path: Path, clock: FakeClock) -> AsyncIterator[SqlStore]:
    database = open_database(f"sqlite+aiosqlite:///{tmp_path}/truth.db")
    await database.write(make_tables)
    made = SqlStore(database, clock)
    await made.generations.ensure(FIRST)
    clock.advance(1)
    yield made
    await database.close()


class Process:
    """A process that writes the text index."""

    def __init__(self, store: SqlStore, builder: str = "b1", consumer: str = "a") -> None:
        self.seconds = Seconds()
        self.prepared: list[str] = []
        self.wrote: list[str] = []
        self.refusal: OpenBrainError | None = None
        self.written = WritableIndexes(
            store, IndexKind.TEXT, lambda: builder, self._prepare, consumer, lease_s=5, clock=self.seconds
        )

    async def _prepare(self, generation: Generation) -> None:
        if self.refusal is not None:
            raise self.refusal
        self.prepared.append(generation.name)

    async def write(self, generations: Sequence[Generation]) -> None:
        self.wrote += [each.name for each in generations]


async def test_what_is_known_counts_until_the_lease_is_over(store: SqlStore) -> None:
    process = Process(store)
    assert [each.name for each in await process.written.get()] == ["t-1"]
    await store.generations.begin(replace(FIRST, name="t-2"))

    process.seconds.now = 4.9
    assert [each.name for each in await process.written.get()] == ["t-1"]
    (row,) = await store.index_writers.writers(IndexKind.TEXT)
    assert row.names == {"t-1"}, "the process that began the generation sees that this one does not know it"
    process.seconds.now = 5.0
    assert [each.name for each in await process.written.get()] == ["t-1", "t-2"]
    (row,) = await store.index_writers.writers(IndexKind.TEXT)
    assert row.names == {"t-1", "t-2"}
    assert process.prepared == ["t-1", "t-2"]


async def test_a_batch_that_outlived_the_lease_is_written_to_what_came_meanwhile(store: SqlStore) -> None:
    """A stalled process is no longer waited for: the scan of the new generation may already have passed its rows."""
    process = Process(store)

    async def stopped_in_the_middle(generations: Sequence[Generation]) -> None:
        await process.write(generations)
        if len(process.wrote) == 1:
            await store.generations.begin(replace(FIRST, name="t-2"))
            process.seconds.now += 60

    await write_to_all(process.written, stopped_in_the_middle)

    assert process.wrote == ["t-1", "t-2"]


@pytest.mark.parametrize("refusal", [SetupError("no rights"), NeverRetry("too many shards"), TryLater("down")])
async def test_an_index_that_can_not_be_made_is_no_fault_of_the_entries(
    store: SqlStore, refusal: OpenBrainError
) -> None:
    process = Process(store)
    process.refusal = refusal

    async def make() -> str:
        raise refusal

    for meets in (process.written.get, LazyReady(make)):
        with pytest.raises(TryLater, match=str(refusal)):
            await meets()

    process.refusal = None
    assert await process.written.get()


async def test_only_what_is_wanted_is_written(store: SqlStore) -> None:
    await store.generations.begin(replace(FIRST, name="t-2"))
    process = Process(store)
    await write_to_all(process.written, process.write, lambda each: each.name == "t-2")
    await write_to_all(process.written, process.write, lambda each: each.name == "t-3")
    assert process.wrote == ["t-2"]


async def test_an_older_version_holds_back_and_a_newer_one_leaves_the_old_index_behind(
    store: SqlStore, clock: FakeClock
) -> None:
    older, newer = Process(store), Process(store, "b2", "b")
    with pytest.raises(TryLater, match="openbrain reindex --text"):
        await newer.written.get()
    with pytest.raises(TryLater, match="openbrain reindex --text"):
        await newer.written.check()
    assert await older.written.get()

    clock.advance(1)
    await store.generations.begin(replace(FIRST, name="t-2", builder="b2"))
    older.seconds.now = newer.seconds.now = 5

    assert [each.name for each in await newer.written.get()] == ["t-2"]
    await newer.written.check()
    with pytest.raises(TryLater, match="b2"):
        await older.written.get()
    with pytest.raises(TryLater, match="b2"):
        await older.written.check()


def test_without_an_index_there_is_nothing_to_write() -> None:
    with pytest.raises(TryLater, match="no vector index yet"):
        writable([], IndexKind.VECTOR, "b1")
