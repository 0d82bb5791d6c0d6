"""Contract of `ports.vault.Ticks`, on every database."""

import asyncio
from dataclasses import replace
from typing import Any, cast

import pytest

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.store import SqlStore
from openbrain.adapters.sql.vault.ticks import SqlTicks
from openbrain.domain.errors import NotFound
from openbrain.domain.events.data import TickCompleted, TickRequested
from openbrain.domain.events.envelope import CloudEvent, decode, event_type
from openbrain.domain.ids import uuid7
from openbrain.domain.memory import DAY, MICROSECONDS
from openbrain.ports.store.tenants import Workspace
from openbrain.ports.store.vault import TickJob, TickState
from tests.support.store.fixtures import FakeClock
from tests.support.store.parts import LostResponses

SLOT = "cron:2027-01-15T08:07Z"


@pytest.fixture(autouse=True)
async def workspaces(store: SqlStore, clock: FakeClock) -> None:
    for name in ("w1", "w2"):
        await store.workspaces.create_workspace(Workspace(id=name, name=name, created_at=clock.now()))


def job(clock: FakeClock, **more: Any) -> TickJob:
    return TickJob(**{"id": uuid7(clock.now()), "workspace_id": "w1", "slot": SLOT, "actor": "schedule", **more})


async def said(store: SqlStore) -> list[Any]:
    """Take all tick events from the outbox."""
    entries = await store.outbox.take(100)
    await store.outbox.delete([entry.id for entry in entries])
    models: dict[str, Any] = {"tick.requested": CloudEvent[TickRequested], "tick.completed": CloudEvent[TickCompleted]}
    return [decode(models[each.stream], each.body, event_type(each.stream)).data for each in entries]


async def test_a_slot_is_one_tick_whoever_asks_and_however_many_at_once(store: SqlStore, clock: FakeClock) -> None:
    jobs = [job(clock, extract=number == 0) for number in range(8)]

    found = await asyncio.gather(*map(store.ticks.request_tick, jobs))

    assert len({each.job.id for each in found}) == 1
    (event,) = await said(store)
    assert (event.workspace_id, event.slot, event.job_id) == ("w1", SLOT, found[0].job.id)
    other = await store.ticks.request_tick(job(clock, workspace_id="w2"))
    assert other.job.id != found[0].job.id
    assert await store.ticks.tick("w2", found[0].job.id) is None
    assert await store.ticks.tick("w1", found[0].job.id) == found[0]


async def test_dry_runs_take_no_slot(store: SqlStore, clock: FakeClock) -> None:
    first, second = (job(clock, slot=None, dry_run=True) for _ in range(2))

    assert (await store.ticks.request_tick(first)).job == first
    assert (await store.ticks.request_tick(second)).job == second
    assert (await store.ticks.request_tick(first)).job == first
    assert [each.dry_run for each in await said(store)] == [True, True]
    assert [each.job.id for each in await store.ticks.ticks("w1", 5)] == sorted([first.id, second.id], reverse=True)


async def test_what_came_by_an_event_is_not_said_again(store: SqlStore, clock: FakeClock) -> None:
    await store.ticks.request_tick(job(clock), announce=False)

    assert await said(store) == []


async def test_unknown_workspaces_and_foreign_ids_are_not_there(store: SqlStore, clock: FakeClock) -> None:
    asked = await store.ticks.request_tick(job(clock))

    with pytest.raises(NotFound):
        await store.ticks.request_tick(job(clock, workspace_id="nowhere"))
    with pytest.raises(NotFound):
        await store.ticks.request_tick(replace(asked.job, workspace_id="w2", slot="other"))
    assert await store.ticks.tick("w1", uuid7(clock.now())) is None


async def test_one_works_on_it_and_another_when_that_one_is_gone(store: SqlStore, clock: FakeClock) -> None:
    asked = (await store.ticks.request_tick(job(clock))).job

    held = await asyncio.gather(*(store.ticks.hold_tick(asked.id, holder, 30) for holder in "abcd"))
    mine = [each for each in held if each is not None]
    holder = "abcd"[next(number for number, each in enumerate(held) if each is not None)]

    assert [each.state for each in mine] == [TickState.RUNNING]
    assert await store.ticks.keep_tick(asked.id, holder, 30)
    assert not await store.ticks.keep_tick(asked.id, "another", 30)
    clock.advance(31 * MICROSECONDS)
    taken = await store.ticks.hold_tick(asked.id, "later", 30)
    assert taken is not None
    assert taken.started_at == mine[0].started_at
    assert not await store.ticks.finish_tick(asked.id, holder, {})
    assert await store.ticks.finish_tick(asked.id, "later", {"total_ms": 3, "diff": "secret"})
    assert await store.ticks.hold_tick(asked.id, "again", 30) is None

    done = await store.ticks.tick("w1", asked.id)
    assert done is not None
    assert (done.state, done.report, done.finished_at) == ("completed", {"total_ms": 3, "diff": "secret"}, clock.now())
    requested, completed = await said(store)
    assert requested.job_id == completed.job_id == asked.id
    assert (completed.slot, completed.state, completed.report) == (SLOT, "completed", {"total_ms": 3})
    assert (await store.ticks.request_tick(job(clock))).state is TickState.COMPLETED


async def test_a_failed_one_says_why(store: SqlStore, clock: FakeClock) -> None:
    asked = (await store.ticks.request_tick(job(clock))).job
    await store.ticks.hold_tick(asked.id, "me", 30)

    assert await store.ticks.finish_tick(asked.id, "me", {}, "the vault is away")

    failed = await store.ticks.tick("w1", asked.id)
    assert failed is not None
    assert (failed.state, failed.error) == (TickState.FAILED, "the vault is away")
    assert [each.state for each in (await said(store))[1:]] == ["failed"]


async def test_one_that_was_put_off_waits_and_is_said_again(store: SqlStore, clock: FakeClock) -> None:
    asked = (await store.ticks.request_tick(job(clock))).job
    held = await store.ticks.hold_tick(asked.id, "me", 30)
    await said(store)
    minute = 60 * MICROSECONDS

    assert not await store.ticks.put_off_tick(asked.id, "another", 120, "no")
    assert await store.ticks.put_off_tick(asked.id, "me", 120, "the vault is away" * 100)
    assert not await store.ticks.finish_tick(asked.id, "me", {})

    waits = await store.ticks.tick("w1", asked.id)
    assert waits is not None
    assert held is not None
    assert (waits.state, waits.started_at, waits.finished_at) == (TickState.PENDING, held.started_at, None)
    assert waits.error.startswith("the vault is away")
    clock.advance(2 * minute)
    assert await store.ticks.announce_ticks(clock.now() - minute, 10) == 0
    clock.advance(minute + 1)
    assert await store.ticks.announce_ticks(clock.now() - minute, 10) == 1
    assert [each.job_id for each in await said(store)] == [asked.id]
    assert await store.ticks.hold_tick(asked.id, "me", 30) is not None


async def test_one_that_was_ended_before_a_lost_response_to_the_commit_is_ours(
    store: SqlStore, database: Database, clock: FakeClock
) -> None:
    twice = SqlTicks(cast("Database", LostResponses(database)), clock)
    ended, later = [(await store.ticks.request_tick(job(clock, slot=slot))).job.id for slot in ("one", "two")]
    await said(store)
    for name in (ended, later):
        assert await store.ticks.hold_tick(name, "me", 60)

    assert await twice.put_off_tick(later, "me", 120, "the vault is away")
    assert await twice.finish_tick(ended, "me", {"total_ms": 3})
    assert [event.job_id for event in await said(store)] == [ended]
    assert not await twice.finish_tick(ended, "me", {})
    assert not await twice.put_off_tick(later, "me", 120, "")


async def test_what_was_lost_is_said_again_and_not_too_often(store: SqlStore, clock: FakeClock) -> None:
    pending = (await store.ticks.request_tick(job(clock))).job
    running = (await store.ticks.request_tick(job(clock, slot="key:1"))).job
    ended = (await store.ticks.request_tick(job(clock, slot="key:2"))).job
    for each in (running, ended):
        await store.ticks.hold_tick(each.id, "me", 30)
    await store.ticks.finish_tick(ended.id, "me", {})
    await said(store)
    minute = 60 * MICROSECONDS

    clock.advance(minute + 1)
    assert await store.ticks.announce_ticks(clock.now() - minute, 10) == 1
    assert [each.job_id for each in await said(store)] == [pending.id]
    clock.advance(minute // 2)
    assert await store.ticks.announce_ticks(clock.now() - minute, 10) == 1
    assert [each.job_id for each in await said(store)] == [running.id]
    assert await store.ticks.announce_ticks(clock.now() - minute, 10) == 0
    clock.advance(DAY)
    assert await store.ticks.announce_ticks(clock.now() - minute, 10) == 0
    assert {each.state for each in await store.ticks.ticks("w1", 9)} == {TickState.FAILED, TickState.COMPLETED}


async def test_old_ones_go_when_they_ended(store: SqlStore, clock: FakeClock) -> None:
    ended, open_one = (
        (await store.ticks.request_tick(job(clock))).job,
        (await store.ticks.request_tick(job(clock, slot="k"))).job,
    )
    await store.ticks.hold_tick(ended.id, "me", 30)
    await store.ticks.finish_tick(ended.id, "me", {})

    assert await store.ticks.purge_ticks(clock.now(), 10) == 0
    assert await store.ticks.purge_ticks(clock.now() + 1, 10) == 1
    assert [each.job.id for each in await store.ticks.ticks("w1", 5)] == [open_one.id]
