"""Signals are handled in the order in which they were noted, also while the handler is slower than the readers."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from openbrain.client.subscriber import received
from openbrain.client.subscriber.api import Missed, News
from openbrain.client.subscriber.received import ReceivedSignals
from openbrain.client.subscriber.sources import Listening
from openbrain.domain.tasks import cancel
from tests.support.signals.agents import broadcast
from tests.support.waiting import until


async def test_no_reader_passes_another_while_the_queue_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the saved number would cover signals that are not handled yet."""
    monkeypatch.setattr(received, "WAITING", 1)
    signals = ReceivedSignals("", "", cut_off_s=None, clock=lambda: 0.0)
    signals.place(0)
    await signals.take(broadcast(1))
    waiting = [asyncio.create_task(signals.take(broadcast(seq))) for seq in (2, 3)]
    for _ in range(3):
        await asyncio.sleep(0)

    async def late() -> None:
        handled.append(signals.queue.get_nowait())
        await signals.take(broadcast(4))  # at once, before those that wait for room are woken

    handled: list[received.Item] = []
    reading = asyncio.create_task(late())
    await asyncio.sleep(0)
    while len(handled) < 4:
        handled.append(await signals.queue.get())
    await asyncio.gather(*waiting, reading)

    assert [(signal and signal.seq, known) for signal, known in handled] == [(1, 1), (2, 2), (3, 3), (4, 4)]


class PutBack:
    """An API whose database is put back to an earlier state while it answers: the numbers begin again at 50."""

    def __init__(self, signals: ReceivedSignals) -> None:
        self._signals = signals
        self.asked: list[int] = []

    async def missed(self, after: int) -> Missed:
        self.asked.append(after)
        self._signals.place(50)
        return Missed(broadcasts=(broadcast(after + 1),), through=after + 5)

    async def stream(self, after: int) -> AsyncIterator[News]:
        self.asked.append(after)
        if after > 50:
            self._signals.place(50)
            yield Missed(broadcasts=(broadcast(after + 1),), through=after + 1)
        await asyncio.Event().wait()


@pytest.mark.parametrize("way", ["page", "stream"])
async def test_an_answer_of_before_a_restore_of_the_database_moves_no_position(way: str) -> None:
    """Otherwise what is raised up to that number would count as received."""
    signals = ReceivedSignals("", "", cut_off_s=None, clock=lambda: 0.0)
    signals.place(100)
    api = PutBack(signals)
    listening = Listening(signals, cast("Any", api), None, beat_s=60)

    async def asked_again() -> bool:
        return len(api.asked) > 1

    if way == "page":
        await listening._refill(105)
    else:
        following = asyncio.create_task(listening._follow_api())
        await until(asked_again)
        await cancel(following)

    assert api.asked == ([100] if way == "page" else [100, 50])
    assert (signals.progress.done, signals.progress.top, signals.queue.qsize()) == (50, 50, 0)
