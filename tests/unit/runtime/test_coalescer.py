"""Concurrent calls are merged into one."""

import asyncio
from collections.abc import Sequence

import pytest

from openbrain.domain.errors import NotFound
from openbrain_api.broadcasts import coalescer
from openbrain_api.broadcasts.coalescer import Coalescer


class Calls:
    """Records each call; a call ends once the door is open."""

    def __init__(self) -> None:
        self.made: list[tuple[str, list[str]]] = []
        self.door = asyncio.Event()

    async def __call__(self, key: str, items: Sequence[str]) -> str:
        self.made.append((key, list(items)))
        await self.door.wait()
        if "bad" in items:
            raise NotFound("no such thing")
        return f"{key} {len(self.made)}"


async def test_what_comes_meanwhile_is_one_call_of_each_key() -> None:
    calls = Calls()
    asked: Coalescer[str, str] = Coalescer(calls)
    tasks = [asyncio.create_task(asked.call(key, str(number))) for number in range(4) for key in "xy"]
    for _ in range(5):
        await asyncio.sleep(0)
    late = [asyncio.create_task(asked.call("x", f"late {number}")) for number in range(3)]
    await asyncio.sleep(0)
    calls.door.set()
    await asyncio.gather(*tasks, *late)
    again = await asked.call("x", "later")

    assert calls.made == [
        ("x", ["0", "1", "2", "3"]),
        ("y", ["0", "1", "2", "3"]),
        ("x", ["late 0", "late 1", "late 2"]),
        ("x", ["later"]),
    ]
    assert again == "x 4"


async def test_an_error_is_told_to_those_it_concerns_and_who_left_is_left_alone() -> None:
    calls = Calls()
    asked: Coalescer[str, str] = Coalescer(calls)
    first = asyncio.create_task(asked.call("x", "good"))
    for _ in range(3):
        await asyncio.sleep(0)
    tasks = [asyncio.create_task(asked.call("x", item)) for item in ("bad", "other", "gone")]
    await asyncio.sleep(0)
    tasks[2].cancel()
    calls.door.set()

    assert await first == "x 1"
    for task in tasks[:2]:
        with pytest.raises(NotFound):
            await task
    assert await asked.call("x", "good") == "x 3"


async def test_a_call_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coalescer, "MOST", 2)
    calls = Calls()
    calls.door.set()
    asked: Coalescer[str, str] = Coalescer(calls)
    await asyncio.gather(*(asked.call("x", str(number)) for number in range(5)))

    assert [len(items) for _, items in calls.made] == [2, 2, 1]


async def test_a_cancelled_call_leaves_nobody_waiting_and_no_later_call() -> None:
    door = asyncio.Event()

    async def call(_: str, items: Sequence[str]) -> str:
        await door.wait()
        if "first" in items:
            raise asyncio.CancelledError
        return "answered"

    asked: Coalescer[str, str] = Coalescer(call)
    first = asyncio.create_task(asked.call("x", "first"))
    for _ in range(3):
        await asyncio.sleep(0)
    behind = asyncio.create_task(asked.call("x", "behind"))
    await asyncio.sleep(0)
    door.set()
    async with asyncio.timeout(5):
        ends = await asyncio.gather(first, behind, return_exceptions=True)
        later = await asked.call("x", "later")

    assert [type(each) for each in ends] == [asyncio.CancelledError] * 2
    assert later == "answered"
