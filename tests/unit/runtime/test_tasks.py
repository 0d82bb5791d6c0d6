"""How background tasks are ended."""

import asyncio
import contextlib

import pytest

from openbrain.domain import tasks
from openbrain.domain.tasks import cancel


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "_REPEATED_S", 0.01)


async def test_all_have_ended_whatever_their_outcome() -> None:
    cleaned = asyncio.Event()

    async def clean_up() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.set()

    async def fail() -> None:
        raise ValueError

    async def end() -> None:
        return

    running, failed, done = (asyncio.create_task(each()) for each in (clean_up, fail, end))
    await asyncio.sleep(0)
    await cancel(running, None, failed, done)

    assert cleaned.is_set()
    assert (running.cancelled(), failed.done(), done.done()) == (True, True, True)
    await cancel()


async def test_a_cancellation_that_is_lost_is_repeated() -> None:
    """Python 3.11 can lose a cancellation in an inner wait."""
    begun = asyncio.Event()

    async def lose_one() -> None:
        begun.set()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        await asyncio.Event().wait()

    task = asyncio.create_task(lose_one())
    await begun.wait()
    await cancel(task)

    assert task.cancelled()


async def test_what_refuses_to_end_is_left() -> None:
    over = asyncio.Event()

    async def refuse() -> None:
        while not over.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await over.wait()

    task = asyncio.create_task(refuse())
    await asyncio.sleep(0)
    await cancel(task)

    assert not task.done()
    over.set()
    await task
