"""A bulkhead bounds the number of concurrent calls and the length of its queue."""

import asyncio

import pytest

from openbrain.adapters.sql.engine.bulkhead import Bulkhead
from openbrain.domain.errors import TryLater
from tests.support.streams.consumers import eventually


async def test_no_more_than_so_many_are_inside_and_all_come_in() -> None:
    bulkhead, inside, most = Bulkhead(3, wait_s=60), 0, 0

    async def work() -> None:
        nonlocal inside, most
        async with bulkhead.place():
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*(work() for _ in range(50)))

    assert (most, inside) == (3, 0)


async def test_who_finds_no_place_in_time_is_told_to_try_later_and_a_free_one_is_taken() -> None:
    bulkhead, over = Bulkhead(1, wait_s=0.01), asyncio.Event()
    entered: list[int] = []

    async def hold() -> None:
        async with bulkhead.place():
            entered.append(1)
            await over.wait()
            raise ValueError("what goes wrong inside gives its place back")

    holding = asyncio.create_task(hold())
    await eventually(lambda: entered == [1])
    with pytest.raises(TryLater, match="try again"):
        async with bulkhead.place():
            entered.append(2)
    over.set()
    with pytest.raises(ValueError, match="gives its place back"):
        await holding
    async with bulkhead.place():
        entered.append(3)

    assert entered == [1, 3]
