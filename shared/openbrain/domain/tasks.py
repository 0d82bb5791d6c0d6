"""Background tasks and threads: backoff between attempts, cancellation, work in parts."""

import asyncio
import random
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")

_REPEATED_S = 5.0
"""Long enough for a task's cleanup, which a second cancellation would interrupt."""
_TIMES = 2


async def cancel(*tasks: asyncio.Task[Any] | None) -> None:
    """Cancel tasks and wait until they end, ignoring their results; at most 10 s, in case one does not end.

    Python 3.11 can lose a cancellation that coincides with the end of an inner wait, so it is repeated after 5 s.
    """
    pending = {task for task in tasks if task is not None}
    for _ in range(_TIMES):
        for task in pending:
            task.cancel()
        if pending:
            ended, pending = await asyncio.wait(pending, timeout=_REPEATED_S)
            await asyncio.gather(*ended, return_exceptions=True)


async def in_thread(work: Callable[[], T]) -> T:
    """Run `work` in a thread, and wait for its end even if this task is cancelled, so that what the caller holds for it
    is not released before."""
    task = asyncio.create_task(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            with suppress(asyncio.CancelledError):  # cancelled again, as `cancel` does
                await asyncio.wait([task])
        await asyncio.gather(task, return_exceptions=True)  # its result is not wanted
        raise


async def all_ended(works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Run concurrently, wait for all, then raise the first error: a caller that repeats them must not find one still
    running."""
    results: list[T] = []
    for outcome in await asyncio.gather(*works, return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome
        results.append(outcome)
    return results


def chunks(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yield the items in order, at most `size` at a time."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


class Backoff:
    """Pauses that double up to a limit, with jitter over their second half."""

    def __init__(self, first: float, limit: float, chance: Callable[[], float] = random.random) -> None:
        self._first, self._limit, self._chance = first, limit, chance
        self._next = min(first, limit)

    def next(self) -> float:
        """Return the next pause in seconds."""
        pause, self._next = self._next, min(self._next * 2, self._limit)
        return pause * (0.5 + self._chance() / 2)

    def reset(self) -> None:
        """Start over with the first pause."""
        self._next = min(self._first, self._limit)
