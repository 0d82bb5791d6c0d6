"""Contracts of outbox, leases and generations, on every database."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace

import pytest

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.engine.opening import open_database
from openbrain.adapters.sql.schema.tables import outbox
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.ids import uuid7
from openbrain.ports.store.generations import IndexKind
from openbrain.ports.store.operations import Operation
from openbrain.ports.store.tenants import Workspace
from openbrain.ports.store.vault import TickJob
from tests.support.store.direct_rows import put_into
from tests.support.store.fixtures import FakeClock
from tests.support.waiting import PATIENCE_S


@pytest.fixture
async def elsewhere(database: Database, database_url: str, clock: FakeClock) -> AsyncIterator[SqlStore]:
    """The same database, opened by another process."""
    other = SqlStore(open_database(database_url, lock_wait_s=PATIENCE_S), clock)
    yield other
    await other.close()


# Outbox


async def test_the_outbox_gives_the_oldest_and_keeps_them(store: SqlStore, database: Database) -> None:
    bodies = [f'{{"number": {number}, "text": "ä😀\\\\"}}'.encode() for number in range(5)]
    await put_into(database, outbox, *({"stream": "memory.stored", "body": body} for body in bodies))

    first = await store.outbox.take(3)

    assert [entry.body for entry in first] == bodies[:3]
    assert {entry.stream for entry in first} == {"memory.stored"}
    assert await store.outbox.take(3) == first
    await store.outbox.delete([entry.id for entry in first])
    assert [entry.body for entry in await store.outbox.take(10)] == bodies[3:]


async def test_the_outbox_deletes_exactly_what_it_is_told(store: SqlStore, database: Database) -> None:
    """A transaction that commits late adds a lower id: it must not be deleted with the entries around it."""
    await put_into(database, outbox, *({"stream": "s", "body": b"{}"} for _ in range(1200)))
    entries = await store.outbox.take(5000)
    late = entries[1]

    await store.outbox.delete([entry.id for entry in entries if entry is not late] + [10**9])

    assert await store.outbox.take(10) == [late]
    await store.outbox.delete([])
    assert await store.outbox.take(10) == [late]


async def test_an_id_is_never_given_twice(store: SqlStore, database: Database) -> None:
    """Otherwise a second event that got the same id could be deleted in place of the first."""
    await put_into(database, outbox, {"stream": "s", "body": b"{}"})
    (first,) = await store.outbox.take(1)
    await store.outbox.delete([first.id])
    await put_into(database, outbox, {"stream": "s", "body": b"{}"})

    assert (await store.outbox.take(1))[0].id > first.id


# Leases


async def eventually(condition: Callable[[], Awaitable[bool]], seconds: float = PATIENCE_S) -> float:
    """Wait for the condition; return the seconds until it was true."""
    start = time.monotonic()
    while not await condition():
        assert time.monotonic() - start < seconds
        await asyncio.sleep(0.01)
    return time.monotonic() - start


async def test_one_holds_a_lease_and_prolongs_it(store: SqlStore, elsewhere: SqlStore) -> None:
    assert await store.leases.acquire("relay", "a", 60)
    assert not await elsewhere.leases.acquire("relay", "b", 60)
    assert await store.leases.acquire("relay", "a", 60)
    assert await elsewhere.leases.acquire("expiry", "b", 60)
    assert not await store.leases.acquire("expiry", "a", 60)


async def test_a_lease_that_ran_out_is_taken_over(store: SqlStore, elsewhere: SqlStore) -> None:
    start = time.monotonic()
    assert await store.leases.acquire("relay", "a", 0.4)
    taken = await elsewhere.leases.acquire("relay", "b", 0.4)
    assert not taken or time.monotonic() - start > 0.35, "not before the lease ends, however slow the machine is"

    await eventually(lambda: elsewhere.leases.acquire("relay", "b", 60))

    assert time.monotonic() - start > 0.35
    assert not await store.leases.acquire("relay", "a", 60)


async def test_prolonging_counts_from_now(store: SqlStore, elsewhere: SqlStore) -> None:
    assert await store.leases.acquire("relay", "a", 60)
    assert await store.leases.acquire("relay", "a", 0.2)

    await eventually(lambda: elsewhere.leases.acquire("relay", "b", 60))


async def test_a_refused_one_does_not_prolong(store: SqlStore, elsewhere: SqlStore) -> None:
    start = time.monotonic()
    assert await store.leases.acquire("relay", "a", 0.3)
    for _ in range(3):
        assert not await elsewhere.leases.acquire("relay", "b", 60) or time.monotonic() - start > 0.25

    assert await eventually(lambda: elsewhere.leases.acquire("relay", "b", 60)) < 55


async def test_a_lease_is_given_back_by_its_holder_only(store: SqlStore, elsewhere: SqlStore) -> None:
    assert await store.leases.acquire("relay", "a", 60)
    await elsewhere.leases.release("relay", "b")
    assert not await elsewhere.leases.acquire("relay", "b", 60)

    await store.leases.release("relay", "a")

    assert await elsewhere.leases.acquire("relay", "b", 60)
    await store.leases.release("nothing", "a")


async def test_all_that_processes_hold_ends_where_they_are_gone(store: SqlStore, clock: FakeClock) -> None:
    await store.workspaces.create_workspace(Workspace(id="w", name="w", created_at=clock.now()))
    job = TickJob(id=uuid7(clock.now()), workspace_id="w", slot=None, actor="ada")
    later = replace(job, id=uuid7(clock.now() + 1))
    operation = Operation(id=uuid7(clock.now()), workspace_id="w", kind="count", actor="ada")
    await store.operations.start_operation(operation)
    for each in (job, later):
        await store.ticks.request_tick(each)
        assert await store.ticks.hold_tick(each.id, "gone", 600)
    assert await store.ticks.put_off_tick(later.id, "gone", 600, "the disk is full")
    assert await store.operations.hold_operation("gone", 600, {"count"})
    assert await store.leases.acquire("relay", "gone", 600)
    await store.index_writers.confirm("gone", IndexKind.TEXT, "t1", 600)

    await store.leases.end_all()

    assert await store.leases.acquire("relay", "next", 600)
    assert await store.operations.hold_operation("next", 600, {"count"})
    assert await store.index_writers.writers(IndexKind.TEXT) == []
    assert await store.ticks.announce_ticks(clock.now(), 9) == 1, "one that is put off stays so"
    assert await store.ticks.hold_tick(job.id, "next", 600)


async def test_holders_are_told_apart_exactly(store: SqlStore) -> None:
    assert await store.leases.acquire("relay", "host:1", 60)
    for near in ("HOST:1", "host:1 ", "höst:1", ""):
        assert not await store.leases.acquire("relay", near, 60)
    assert await store.leases.acquire("Relay", "other", 60)


async def test_of_many_who_race_one_wins(store: SqlStore, elsewhere: SqlStore) -> None:
    for round_ in range(10):
        racing = [(store, elsewhere)[number % 2].leases.acquire(f"r{round_}", str(number), 60) for number in range(8)]
        assert sum(await asyncio.gather(*racing)) == 1


async def test_the_clock_of_a_host_has_no_say(store: SqlStore, elsewhere: SqlStore, clock: FakeClock) -> None:
    assert await store.leases.acquire("relay", "a", 60)
    clock.advance(10**15)

    assert not await elsewhere.leases.acquire("relay", "b", 60)
