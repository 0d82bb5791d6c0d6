"""Many concurrent writers, on both databases: one row, one head, nothing lost."""

import asyncio
from collections import Counter
from typing import Any

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.engine.opening import open_database
from openbrain.adapters.sql.writes.writing import SqlMemoryWrites
from openbrain.domain.errors import Conflict
from openbrain.ports.store.writes import Status
from tests.support.store.fixtures import START, FakeClock, announced, patiently, row, rows, stored, write
from tests.support.store.writers import Answer, written_together
from tests.support.waiting import PATIENCE_S

PROCESSES = 2
EACH = 100


async def at_once(url: str, **changes: Any) -> list[Answer]:
    """(status, memory, head) of 200 writes that start together in two processes, with eight connections each."""
    return await written_together(url, PROCESSES, EACH, changes)


async def beside(url: str, writing: SqlMemoryWrites, **changes: Any) -> list[Answer]:
    """The same in one process that opens the database twice."""
    other = open_database(url, pool=8, lock_wait_s=PATIENCE_S)
    writers = [writing, SqlMemoryWrites(other, FakeClock())]
    done = await asyncio.gather(*[patiently(writers[number % 2], [write(**changes)]) for number in range(200)])
    await other.close()
    return [
        (each.status.value, each.memory.id if each.memory else None, getattr(each.error, "head", None))
        for (each,) in done
    ]


async def test_two_hundred_of_the_same_content_are_one_row(database: Database, database_url: str) -> None:
    outcomes = await at_once(database_url, content="the same")
    assert Counter(status for status, _, _ in outcomes) == {"created": 1, "duplicate": 199}
    assert len({memory for _, memory, _ in outcomes}) == 1
    found = await rows(database, "SELECT id FROM memories WHERE content = 'the same'")
    assert [each["id"] for each in found] == [outcomes[0][1]]
    assert len(await announced(database)) == 1 + PROCESSES


async def test_two_hundred_with_one_key_are_one_row(
    database: Database, database_url: str, writing: SqlMemoryWrites
) -> None:
    outcomes = await beside(database_url, writing, content="the same", idempotency_key="k", allow_duplicate=True)
    assert Counter(status for status, _, _ in outcomes) == {"created": 1, "duplicate": 199}
    assert len({memory for _, memory, _ in outcomes}) == 1
    assert len(await rows(database, "SELECT id FROM memories WHERE content = 'the same'")) == 1


async def test_two_hundred_superseding_one_memory_leave_one_head(
    database: Database, database_url: str, writing: SqlMemoryWrites
) -> None:
    old = await stored(writing, "old")
    outcomes = await at_once(database_url, supersedes_id=old.id)
    assert Counter(status for status, _, _ in outcomes) == {"created": 1, "refused": 199}
    (head,) = [memory for status, memory, _ in outcomes if status == "created"]
    assert {named for status, _, named in outcomes if status == "refused"} == {head}
    assert (await row(database, old.id)).revision == 2
    found = await rows(database, "SELECT id FROM memories WHERE supersedes_id = :old", old=old.id)
    assert [each["id"] for each in found] == [head]
    assert len(await rows(database, "SELECT * FROM memory_lineage")) == 1


async def test_two_hundred_superseding_with_one_content_are_one_head(
    database: Database, database_url: str, writing: SqlMemoryWrites
) -> None:
    old = await stored(writing, "old")
    outcomes = await beside(database_url, writing, content="the same", supersedes_id=old.id)
    assert Counter(status for status, _, _ in outcomes) == {"created": 1, "duplicate": 199}
    assert len({memory for _, memory, _ in outcomes}) == 1
    assert len(await rows(database, "SELECT id FROM memories WHERE content = 'the same'")) == 1


async def test_batches_of_the_same_in_any_order_lose_nothing(database: Database, database_url: str) -> None:
    """Overlapping batches, each in another order, and two that supersede the same memories."""
    others = [open_database(database_url, pool=4, lock_wait_s=PATIENCE_S) for _ in range(3)]
    writers = [SqlMemoryWrites(each, FakeClock()) for each in (database, *others)]
    words = [f"word {number}" for number in range(40)]
    orders = [words, words[::-1], words[20:] + words[:20], words[1::2] + words[::2]]
    batches = [
        [write(word, idempotency_key=f"{number}-{word}") for word in order] for number, order in enumerate(orders * 4)
    ]
    done = await asyncio.gather(*[patiently(writers[place % 4], batch) for place, batch in enumerate(batches)])
    statuses = Counter(outcome.status for outcomes in done for outcome in outcomes)
    assert statuses == {Status.CREATED: 40, Status.DUPLICATE: 40 * 15}
    places = {outcome.memory.content: outcome.memory.id for outcome in done[0] if outcome.memory}
    assert all(places[each.memory.content] == each.memory.id for outcomes in done for each in outcomes if each.memory)
    for table in ("memories", "memory_history", "outbox"):
        assert (await rows(database, f"SELECT COUNT(*) AS n FROM {table}"))[0]["n"] == 40
    replaced = await asyncio.gather(
        *[
            patiently(writers[number], [write(f"{number} {word}", supersedes_id=places[word]) for word in order])
            for number, order in enumerate(orders)
        ]
    )
    flat = [outcome for outcomes in replaced for outcome in outcomes]
    assert Counter(outcome.status for outcome in flat) == {Status.CREATED: 40, Status.REFUSED: 120}
    assert all(isinstance(outcome.error, Conflict) for outcome in flat if outcome.error)
    await asyncio.gather(*[each.close() for each in others])


async def test_expiry_in_two_places_ends_each_once(
    database: Database, database_url: str, writing: SqlMemoryWrites, clock: FakeClock
) -> None:
    await writing.remember([write(f"due {number}", expires_at=START + 1) for number in range(100)])
    clock.advance(1)
    other = open_database(database_url, pool=8, lock_wait_s=PATIENCE_S)
    keepers = [SqlMemoryWrites(each, clock) for each in (database, other)]

    async def until_done(keeper: SqlMemoryWrites) -> int:
        ended = 0
        while more := await keeper.expire_due(7, clock.now()):
            ended += more
        return ended

    assert sum(await asyncio.gather(*[until_done(keeper) for keeper in keepers * 2])) == 100
    events = [each for each in await announced(database) if each.get("reason") == "expired"]
    assert len(events) == len({each["memory_id"] for each in events}) == 100
    await other.close()
