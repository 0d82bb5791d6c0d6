"""Reasons to refuse writes other than a backlog: a full disk, and a database or stream server that accepts nothing."""

from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from openbrain.domain.errors import Backlogged, TryLater
from openbrain.usecases.backpressure import FRESH_S, Memory, Pressure
from tests.support.api.brain import Brain, http, offer, refused

LIMIT = 4
REMEMBER = "/v1/brain/remember"


class Ticking:
    """The clock of the pressure checks."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Ticking:
    return Ticking()


@pytest.fixture
async def pressure(brain: Brain, clock: Ticking) -> AsyncIterator[Pressure]:
    made = Pressure(brain.store.outbox, None, outbox_limit=LIMIT, memory_share=1, clock=clock)
    yield made
    await made.close()


async def _again(clock: Ticking, pressure: Pressure) -> None:
    """Let the next check become due, and wait until it was made."""
    clock.now += 60 * FRESH_S
    await pressure.refusal()
    if pressure._looking is not None:
        await pressure._looking


async def test_a_full_disk_holds_back_all_that_writes(clock: Ticking) -> None:
    class Empty:
        async def waiting(self, limit: int) -> int:
            return 0

    lacking = "the disk of /data is full"
    pressure = Pressure(
        cast("Any", Empty()), None, outbox_limit=LIMIT, memory_share=1, disk=lambda: lacking, clock=clock
    )
    for ask in (pressure.admit, pressure.admit_events):
        with pytest.raises(Backlogged, match="the disk of /data is full"):
            await ask()
    assert await pressure.refusal() == lacking
    lacking = ""
    await _again(clock, pressure)
    await pressure.admit()
    await pressure.admit_events()
    assert await pressure.refusal() is None


async def test_what_refuses_writes_behind_the_gate_is_said_until_one_is_stored(
    brain: Brain, clock: Ticking, pressure: Pressure, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No check covers that disk: the writes themselves report it."""
    remember = brain.store.writes.remember

    async def full(_: object) -> None:
        raise TryLater("the disk that holds the truth is full: free some space")

    async with http(brain.app(pressure=pressure), await brain.key()) as client:
        monkeypatch.setattr(brain.store.writes, "remember", full)
        refused(await client.post(REMEMBER, json=offer("refused")), 503)
        for path in ("/ready", "/v1/health"):
            assert "the disk that holds the truth is full" in (await client.get(path)).json()["writes"]
        assert (await client.get("/v1/health")).json()["status"] == "degraded"
        monkeypatch.setattr(brain.store.writes, "remember", remember)
        assert (await client.post(REMEMBER, json=offer("stored"))).status_code == 201
        assert (await client.get("/ready")).json()["writes"] is None

        pressure.failed("once")
        clock.now += 61
        assert await pressure.refusal() is None, "nobody writes any more, so the state is unknown"


@pytest.mark.parametrize("answers", [True, False])
async def test_health_names_the_stream_server(brain: Brain, clock: Ticking, answers: bool) -> None:
    async def ask() -> Memory:
        if not answers:
            raise TryLater("Redis does not answer")
        return Memory(1, 100)

    pressure = Pressure(brain.store.outbox, ask, outbox_limit=LIMIT, memory_share=1, clock=clock)
    async with http(brain.app(pressure=pressure), await brain.key()) as client:
        health = (await client.get("/v1/health")).json()
    assert (health["status"], health["parts"]["streams"]) == (("ok", "ok") if answers else ("degraded", "down"))
    await pressure.close()
