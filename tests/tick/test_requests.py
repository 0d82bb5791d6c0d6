"""Requests for ticks: each slot runs once, whoever dies, and failures are recorded."""

import asyncio
from typing import Any

import pytest

from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.errors import SetupError, TryLater
from openbrain.domain.events.data import TickRequested
from openbrain.domain.events.envelope import CloudEvent, encode
from openbrain.domain.ids import uuid7
from openbrain.domain.memory import MICROSECONDS
from openbrain.ports.store.vault import TickJob, TickState
from openbrain_tick.handlers.tick_requested import handle
from openbrain_tick.ports import Ports
from tests.support.store.fixtures import FakeClock
from tests.support.vault.ticking import database_url

__all__ = ["database_url"]


def requested(**more: Any) -> CloudEvent[TickRequested]:
    data = TickRequested(**{"workspace_id": "w1", "slot": "cron:1", **more})
    raw = encode("tick.requested", data, event_id="e1", at=1)
    return CloudEvent[TickRequested].model_validate_json(raw)


async def test_one_slot_runs_once_whatever_comes_twice(ports: Ports, store: SqlStore, clock: FakeClock) -> None:
    ran: list[str] = []

    async def work(given: TickJob) -> dict[str, Any]:
        ran.append(given.id)
        await asyncio.sleep(0)
        return {"total_ms": 1}

    await asyncio.gather(
        *(
            handle(requested(), ticks=store.ticks, clock=clock, work=work, holder=holder, hold_s=30)
            for holder in ("one", "two")
        )
    )
    await handle(requested(job_id=uuid7(5)), ticks=store.ticks, clock=clock, work=work, holder="three", hold_s=30)

    assert len(ran) == 1
    assert [each.state for each in await store.ticks.ticks("w1", 9)] == [TickState.COMPLETED]


async def test_a_tick_of_a_dead_process_is_taken_up(ports: Ports, store: SqlStore, clock: FakeClock) -> None:
    async def killed(_: TickJob) -> dict[str, Any]:
        raise asyncio.CancelledError

    async def works(_: TickJob) -> dict[str, Any]:
        return {"total_ms": 1}

    with pytest.raises(asyncio.CancelledError):
        await handle(requested(), ticks=store.ticks, clock=clock, work=killed, holder="dead", hold_s=30)
    (left,) = await store.ticks.ticks("w1", 9)
    assert left.state is TickState.RUNNING
    clock.advance(31 * MICROSECONDS)
    await handle(requested(), ticks=store.ticks, clock=clock, work=works, holder="next", hold_s=30)

    assert [each.state for each in await store.ticks.ticks("w1", 9)] == [TickState.COMPLETED]


@pytest.mark.parametrize(
    ("error", "told"),
    [(SetupError("the disk is another's"), "the disk is another's"), (KeyError("secret"), "internal error (KeyError")],
)
async def test_what_fails_is_written_down_without_contents(
    error: Exception, told: str, ports: Ports, store: SqlStore, clock: FakeClock
) -> None:
    await handle(requested(), ticks=store.ticks, clock=clock, work=Fails(error), holder="me", hold_s=30)

    (failed,) = await store.ticks.ticks("w1", 9)
    assert failed.state is TickState.FAILED
    assert failed.error.startswith(told)
    assert "secret" not in failed.error


class Fails:
    """Work that fails `times` times, then succeeds; records how often it was tried, and what ran at once."""

    def __init__(self, error: Exception, times: int = 1000) -> None:
        self.error, self.times, self.tried, self.running = error, times, 0, 0

    async def __call__(self, _: TickJob) -> dict[str, Any]:
        self.tried += 1
        self.running += 1
        assert self.running == 1
        await asyncio.sleep(0)
        self.running -= 1
        if self.tried <= self.times:
            raise self.error
        return {"total_ms": 1}


async def told_again(store: SqlStore, clock: FakeClock, work: Fails, minutes: int) -> None:
    """Repeat the housekeeper's announcements each minute, handled by two services."""
    for _ in range(minutes):
        clock.advance(60 * MICROSECONDS + 1)
        await store.ticks.announce_ticks(clock.now() - 60 * MICROSECONDS, 9)
        for entry in await store.outbox.take(9):
            await store.outbox.delete([entry.id])
            if entry.stream == "tick.requested":
                event = CloudEvent[TickRequested].model_validate_json(entry.body)
                services = (
                    handle(event, ticks=store.ticks, clock=clock, work=work, holder=each) for each in ("one", "two")
                )
                await asyncio.gather(*services)


async def test_what_waiting_may_mend_is_tried_again_and_ends_once(
    ports: Ports, store: SqlStore, clock: FakeClock
) -> None:
    away = Fails(TryLater("the disk is away"), times=3)

    await handle(requested(), ticks=store.ticks, clock=clock, work=away, holder="one")
    (put_off,) = await store.ticks.ticks("w1", 9)
    await told_again(store, clock, away, 12)

    assert (put_off.state, put_off.error) == (TickState.PENDING, "the disk is away")
    (done,) = await store.ticks.ticks("w1", 9)
    assert (done.state, done.error, away.tried) == (TickState.COMPLETED, "", 4)
    await told_again(store, clock, away, 12)
    assert away.tried == 4


async def test_what_waiting_does_not_mend_has_failed_after_an_hour(
    ports: Ports, store: SqlStore, clock: FakeClock
) -> None:
    away = Fails(TryLater("the disk is away"))

    await handle(requested(), ticks=store.ticks, clock=clock, work=away, holder="one")
    await told_again(store, clock, away, 59)
    (waits,) = await store.ticks.ticks("w1", 9)
    await told_again(store, clock, away, 30)

    (failed,) = await store.ticks.ticks("w1", 9)
    assert (waits.state, failed.state, failed.error) == (TickState.PENDING, TickState.FAILED, "the disk is away")
    assert away.tried == 7


async def test_a_dry_run_that_fails_is_told_at_once(ports: Ports, store: SqlStore, clock: FakeClock) -> None:
    away = Fails(TryLater("the disk is away"))

    await handle(requested(dry_run=True), ticks=store.ticks, clock=clock, work=away, holder="one")

    assert [each.state for each in await store.ticks.ticks("w1", 9)] == [TickState.FAILED]
