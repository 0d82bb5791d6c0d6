"""A halt is acknowledged at whatever moment it is received."""

import asyncio
import itertools

import pytest

from openbrain.client.subscriber.received import ReceivedSignals
from openbrain.client.subscriber.sources import Listening
from openbrain.domain.signals.values import HaltState
from tests.support.signals.agents import HandApi, Store, broadcast
from tests.support.streams.consumers import eventually


@pytest.mark.parametrize("turns", range(6))
async def test_a_halt_heard_between_two_turns_of_the_loop_is_acknowledged(turns: int) -> None:
    """However far the acknowledging task has come when the halt arrives: no later broadcast wakes it here."""
    store, clock = Store(), itertools.count()
    hearing = ReceivedSignals("", "", cut_off_s=None, clock=lambda: float(next(clock)))
    listening = Listening(hearing, HandApi(store), None, beat_s=60)
    loop = next(each for each in listening.loops() if "acknowledge" in str(each))
    acknowledging = asyncio.create_task(loop())
    try:
        for _ in range(turns):
            await asyncio.sleep(0)
        hearing.halts_of(broadcast(1, "h-1", HaltState.OPEN))
        await eventually(lambda: store.acknowledged == {("ada", "h-1")})
    finally:
        acknowledging.cancel()
        await asyncio.wait({acknowledging})
        await listening.close()
