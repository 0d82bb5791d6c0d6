"""Signals are handled in the order in which they were noted, also while the handler is slower than the readers."""

import asyncio

import pytest

from openbrain.client.subscriber import received
from openbrain.client.subscriber.received import ReceivedSignals
from tests.support.signals.agents import broadcast


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
