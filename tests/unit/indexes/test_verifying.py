"""What a cancelled verification leaves behind, what it looks for in a vector index, and how often it runs."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from openbrain.adapters.qdrant.vectors import QdrantVectors
from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.store import SqlStore
from openbrain.adapters.tantivy import TantivyText
from openbrain.domain.ids import uuid7
from openbrain.domain.memory import MICROSECONDS
from openbrain.ports.index import Sum
from openbrain.ports.store.generations import Generation, GenerationStatus, IndexKind
from openbrain.ports.store.index_entries import VERIFY
from openbrain.ports.store.operations import Operation, OperationStatus
from openbrain.usecases.indexes.serving_indexes import text_generation
from openbrain_housekeeper.handlers.verify import Verifying
from openbrain_housekeeper.jobs.full_comparison import FullComparison
from openbrain_housekeeper.jobs.operations import Worker
from openbrain_housekeeper.reconciliation.comparison import ComparisonOptions
from openbrain_housekeeper.reconciliation.quiescent_since import QuiescentSince
from openbrain_housekeeper.reconciliation.verification import Verification, Verifier
from openbrain_indexer.handlers.text import text_entry
from tests.support.embedder.handler import database, store
from tests.support.indexes.entries import direction, tombstone, vector_entry
from tests.support.indexes.entries import memory as row
from tests.support.indexes.merging_qdrant import Merging, left_by_an_earlier_version
from tests.support.store.direct_rows import put
from tests.support.store.fixtures import FakeClock, age_holds, clock, memory

__all__ = ["clock", "database", "store"]


async def nothing_waits() -> None:
    return None


@pytest.mark.parametrize("restored", [False, True])
async def test_what_is_cancelled_in_the_middle_is_forgotten(
    store: SqlStore, database: Database, clock: FakeClock, tmp_path: Path, *, restored: bool
) -> None:
    index = TantivyText(tmp_path / "text", commit_ms=1)
    serving = Generation(
        kind=IndexKind.TEXT,
        name="t-1",
        model="",
        dimensions=0,
        builder=index.builder,
        status=GenerationStatus.SERVING,
    )
    await store.generations.ensure(serving)
    await index.prepare("t-1")
    await put(database, *(memory(each) for each in "abc"))
    clock.advance(600 * MICROSECONDS)
    quiescent = QuiescentSince(store.outbox.unpublished_since, {IndexKind.TEXT: nothing_waits}, clock)
    verifying = Verifying(Verifier(store, {IndexKind.TEXT: lambda: index}, quiescent, clock, ComparisonOptions()))
    worker = Worker(store.operations, {VERIFY: verifying}, "one", clean_up={VERIFY: verifying.clean_up}, pace_s=0)
    request = {"full": True, "repair": restored, "restored": restored}
    options = Operation(id=uuid7(clock.now()), workspace_id="o", kind=VERIFY, actor="ada", request=request)
    await store.operations.start_operation(options)

    await worker.round()
    assert verifying._runs or verifying._lifts
    await store.operations.cancel_operation("o", options.id)
    await age_holds(store, 2)
    await worker.round()

    ended = await store.operations.operation("o", options.id)
    assert ended is not None
    assert ended.status is OperationStatus.CANCELLED
    assert not verifying._runs
    assert not verifying._lifts
    await index.close()


@pytest.fixture
async def merging(store: SqlStore) -> AsyncIterator[tuple[Merging, QdrantVectors]]:
    """A serving vector index on the oldest supported server."""
    client = Merging(":memory:")
    index = QdrantVectors(lambda: client, "ob")
    await index.prepare("first", 3)
    serving = Generation(
        kind=IndexKind.VECTOR,
        name="first",
        model="m",
        dimensions=3,
        builder=index.builder,
        status=GenerationStatus.SERVING,
    )
    await store.generations.ensure(serving)
    yield client, index
    await index.close()


def verifier(store: SqlStore, index: QdrantVectors, clock: FakeClock) -> Verifier:
    quiescent = QuiescentSince(store.outbox.unpublished_since, {IndexKind.VECTOR: nothing_waits}, clock)
    return Verifier(
        store, {IndexKind.VECTOR: lambda: index}, quiescent, clock, ComparisonOptions(repair=True, patient=False)
    )


async def test_a_tombstone_that_still_has_its_vector_is_a_difference(
    store: SqlStore, clock: FakeClock, merging: tuple[Merging, QdrantVectors]
) -> None:
    client, index = merging
    for each in await left_by_an_earlier_version(client, "ob-first", direction(1, 0, 0), 3):
        await index.write("first", [tombstone(each, revision=2)])
    told = []
    for repair in (False, True, True):
        verification = Verification(verifier(store, index, clock), ComparisonOptions(repair=repair, patient=False))
        async for _ in verification.pieces():
            pass
        found = verification.summary()
        told.append((found["equal"], found["indexes"][0]["faults"]["vector"], found["repaired"]))
    assert told == [(False, 3, 0), (False, 3, 3), (True, 0, 0)]
    assert not any((await client.holding("ob-first")).values())


async def test_every_entry_is_compared_once_a_day_and_counted_every_time(
    store: SqlStore, clock: FakeClock, merging: tuple[Merging, QdrantVectors], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A count finds entries that should not be there."""
    _, index = merging
    sums, options = index.sums, []

    async def watched(name: str, *, digests: bool = True) -> Mapping[int, Sum]:
        options.append(digests)
        return await sums(name, digests=digests)

    monkeypatch.setattr(index, "sums", watched)
    everything = FullComparison(verifier(store, index, clock), 3600, 86_400)
    assert await everything.round() == 0, "a process that has just begun has more urgent things to do"
    for _ in range(26):
        ghost = row()
        await index.write("first", [vector_entry(ghost, direction(1, 0, 0))])
        while await everything.round():
            pass
        assert (await index.read("first", [ghost.id]))[ghost.id].tombstone
        clock.advance(3600 * MICROSECONDS)
    assert [number for number, digests in enumerate(options) if digests] == [0, 24]


async def test_an_index_of_another_database_is_left_alone(
    store: SqlStore, database: Database, clock: FakeClock, tmp_path: Path
) -> None:
    """Nothing is removed from the index, unless somebody confirms that the database is the right one."""
    index = TantivyText(tmp_path / "text", commit_ms=1)
    quiescent = QuiescentSince(store.outbox.unpublished_since, {IndexKind.TEXT: nothing_waits}, clock)
    verifier = Verifier(
        store, {IndexKind.TEXT: lambda: index}, quiescent, clock, ComparisonOptions(repair=True, grace=0)
    )
    generation = await text_generation(store.generations, index, "t-1")
    others = [memory(f"of another database {number}") for number in range(30)]
    await index.write("t-1", [text_entry(each, index.builder) for each in others])
    clock.advance(600 * MICROSECONDS)

    async def verified(options: ComparisonOptions) -> dict[str, Any]:
        run = Verification(verifier, options)
        async for waits in run.pieces():
            if waits:
                clock.advance(61 * MICROSECONDS)
        (told,) = run.summary()["indexes"]
        return {**told, "equal": run.summary()["equal"]}

    for written in ([], [memory("written into the wrong database")]):
        await put(database, *written)
        told = await verified(verifier.options)
        assert (told["equal"], told["repaired"], told["entries"]) == (False, 0, 30)
        assert "OPENBRAIN_TRUTH__URL" in told["note"]
    confirmed = await verified(replace(verifier.options, restored=True))
    assert (confirmed["faults"]["ghost"], confirmed["note"]) == (30, "")
    assert (await verified(verifier.options))["entries"] == 0
    assert generation.name == "t-1"
    await index.close()
