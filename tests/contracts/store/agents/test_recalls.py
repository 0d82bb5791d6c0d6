"""Answered recalls in the database: stored once, counted, announced, and deleted after their time."""

import asyncio

import orjson
import pytest

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.ids import uuid7
from openbrain.domain.memory import DAY
from openbrain.ports.store.memories import RecallRecord
from tests.support.store.fixtures import FakeClock, rows

FIRST, SECOND = uuid7(1_000_000), uuid7(2_000_000)


def record(clock: FakeClock, *found: str, query: str = "") -> RecallRecord:
    now = clock.now()
    results = tuple((memory_id, 1 / place) for place, memory_id in enumerate(found, 1))
    return RecallRecord(
        id=uuid7(now), workspace_id="w1", agent_id="ada", query=query, results=results, took_ms=1.5, at=now
    )


@pytest.fixture
def store(database: Database, clock: FakeClock) -> SqlStore:
    return SqlStore(database, clock)


async def usage(database: Database) -> dict[str, tuple[int, int]]:
    found = await rows(database, "SELECT memory_id, recall_count, last_recalled_at FROM memory_usage")
    return {row["memory_id"]: (row["recall_count"], row["last_recalled_at"]) for row in found}


async def test_a_recall_is_kept_counted_and_announced(store: SqlStore, database: Database, clock: FakeClock) -> None:
    first, second = record(clock, FIRST, SECOND), record(clock, FIRST, query="what?")
    await store.memories.record_recalls([first, second])

    assert await usage(database) == {FIRST: (2, clock.now()), SECOND: (1, clock.now())}
    announced = [orjson.loads(entry.body) for entry in await store.outbox.take(10) if entry.stream == "memory.recalled"]
    assert [each["subject"] for each in announced] == [first.id, second.id]
    assert announced[0]["data"] == {
        "recall_id": first.id,
        "workspace_id": "w1",
        "agent_id": "ada",
        "took_ms": 1.5,
        "results": [{"memory_id": FIRST, "score": 1.0}, {"memory_id": SECOND, "score": 0.5}],
        **({"query": None} if "query" in announced[0]["data"] else {}),
    }
    assert announced[1]["data"]["query"] == "what?"


async def test_the_same_again_counts_nothing(store: SqlStore, database: Database, clock: FakeClock) -> None:
    one = record(clock, FIRST)
    await store.memories.record_recalls([one])
    await store.memories.record_recalls([one, record(clock, SECOND)])

    assert {memory_id: times for memory_id, (times, _) in (await usage(database)).items()} == {FIRST: 1, SECOND: 1}
    assert len([entry for entry in await store.outbox.take(10) if entry.stream == "memory.recalled"]) == 2


async def test_an_answer_without_memories_is_kept_too(store: SqlStore, database: Database, clock: FakeClock) -> None:
    await store.memories.record_recalls([record(clock)])
    await store.memories.record_recalls([])

    assert await usage(database) == {}
    assert len(await store.outbox.take(10)) == 1


async def test_many_at_once_lose_no_count(store: SqlStore, database: Database, clock: FakeClock) -> None:
    await asyncio.gather(
        *(store.memories.record_recalls([record(clock, FIRST, SECOND), record(clock, SECOND)]) for _ in range(20))
    )

    assert {memory_id: times for memory_id, (times, _) in (await usage(database)).items()} == {FIRST: 20, SECOND: 40}


async def test_records_go_after_their_time_and_counts_stay(
    store: SqlStore, database: Database, clock: FakeClock
) -> None:
    await store.memories.record_recalls([record(clock, FIRST) for _ in range(5)])
    clock.advance(DAY)
    young = record(clock, SECOND)
    await store.memories.record_recalls([young])

    assert await store.memories.purge_recalls(clock.now(), 3) == 3
    assert await store.memories.purge_recalls(clock.now(), 3) == 2
    assert await store.memories.purge_recalls(clock.now(), 3) == 0
    left = [row["id"] for row in await rows(database, "SELECT id FROM recalls")]
    assert left == [young.id]
    assert (await usage(database))[FIRST][0] == 5
