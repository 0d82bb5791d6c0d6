"""Requests for ticks: each slot once, whoever dies, and what fails is written down."""

import asyncio
from typing import Any

import pytest

from openbrain.adapters.sql.truth import SqlTruth
from openbrain.errors import TryLater
from openbrain.events import CloudEvent, TickRequested, encode
from openbrain.ids import uuid7
from openbrain.memory import MICROSECONDS
from openbrain.ports.ticks import TickJob, TickState
from openbrain_tick.handling import handle
from openbrain_tick.ticking import Ports
from tests.tick_support import database_url, ports
from tests.truth_support import FakeClock

__all__ = ["database_url", "ports"]


def requested(**more: Any) -> CloudEvent[TickRequested]:
    data = TickRequested(**{"workspace_id": "w1", "slot": "cron:1", **more})
    raw = encode("tick.requested", data, event_id="e1", at=1)
    return CloudEvent[TickRequested].model_validate_json(raw)


async def test_one_slot_runs_once_whatever_comes_twice(ports: Ports, truth: SqlTruth) -> None:
    ran: list[str] = []

    async def work(given: TickJob) -> dict[str, Any]:
        ran.append(given.id)
        await asyncio.sleep(0)
        return {"total_ms": 1}

    await asyncio.gather(
        *(handle(requested(), truth=truth, work=work, holder=holder, hold_s=30) for holder in ("one", "two"))
    )
    await handle(requested(job_id=uuid7(5)), truth=truth, work=work, holder="three", hold_s=30)

    assert len(ran) == 1
    assert [each.state for each in await truth.ticks("w1", 9)] == [TickState.COMPLETED]


async def test_a_tick_of_a_dead_process_is_taken_up(ports: Ports, truth: SqlTruth, clock: FakeClock) -> None:
    async def killed(_: TickJob) -> dict[str, Any]:
        raise asyncio.CancelledError

    async def works(_: TickJob) -> dict[str, Any]:
        return {"total_ms": 1}

    with pytest.raises(asyncio.CancelledError):
        await handle(requested(), truth=truth, work=killed, holder="dead", hold_s=30)
    (left,) = await truth.ticks("w1", 9)
    assert left.state is TickState.RUNNING
    clock.advance(31 * MICROSECONDS)
    await handle(requested(), truth=truth, work=works, holder="next", hold_s=30)

    assert [each.state for each in await truth.ticks("w1", 9)] == [TickState.COMPLETED]


@pytest.mark.parametrize(
    ("error", "told"),
    [(TryLater("the disk is away"), "the disk is away"), (KeyError("secret"), "internal error (KeyError")],
)
async def test_what_fails_is_written_down_without_contents(
    error: Exception, told: str, ports: Ports, truth: SqlTruth
) -> None:
    async def work(_: TickJob) -> dict[str, Any]:
        raise error

    await handle(requested(), truth=truth, work=work, holder="me", hold_s=30)

    (failed,) = await truth.ticks("w1", 9)
    assert failed.state is TickState.FAILED
    assert failed.error.startswith(told)
    assert "secret" not in failed.error
