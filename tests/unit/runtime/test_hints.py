"""Hints: the first is sent at once, later ones are throttled, and the last commit is always announced."""

import asyncio
import time

from openbrain_api.memories.committing import HINT_PAUSE_S, Hints


class Counting:
    """A wake-up target that records what was committed at each notification."""

    def __init__(self) -> None:
        self.committed = 0
        self.told: list[int] = []

    async def notify(self) -> None:
        self.told.append(self.committed)

    async def wait(self, timeout: float) -> bool:
        raise AssertionError


async def test_the_first_is_told_at_once_and_a_burst_in_few() -> None:
    wake = Counting()
    hints, began = Hints(wake), time.monotonic()
    for number in range(1, 1001):
        wake.committed = number
        hints.give()
        await asyncio.sleep(0)
    assert wake.told[0] <= 2
    await hints.close()

    assert wake.told[-1] == 1000
    assert len(wake.told) <= 2 + (time.monotonic() - began) / HINT_PAUSE_S
    assert len(wake.told) < 1000


async def test_after_a_pause_it_is_at_once_again() -> None:
    wake = Counting()
    hints = Hints(wake)
    for number in (1, 2, 3):
        wake.committed = number
        hints.give()
        await hints.close()
    assert wake.told == [1, 2, 3]
