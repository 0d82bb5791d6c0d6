"""Group commit without a timer: writes that arrive while a commit runs form the next transaction."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

from openbrain.domain.errors import TryLater
from openbrain.domain.tasks import chunks
from openbrain.ports.store.writes import MemoryWrites, Outcome, Write
from openbrain.ports.streams import Wake
from openbrain.usecases.backpressure import Pressure

T = TypeVar("T")

BULK_ROWS = 100
"""Most rows in one bulk transaction: single writes that arrive meanwhile wait for it, some milliseconds."""
SINGLE_FIRST = 4
"""Commits of single writes that go before each bulk transaction, while such writes keep arriving."""
HINT_PAUSE_S = 0.01
"""A hint costs as much as a write: commits within this time after one share the next hint."""


class Hints:
    """Notifies the relay of commits in the background: at once for the first commit after a pause."""

    def __init__(self, wake: Wake) -> None:
        self._wake = wake
        self._task: asyncio.Task[None] | None = None
        self._due = False

    def give(self) -> None:
        """Request a hint: something was committed."""
        self._due = True
        if self._task is None:
            self._task = asyncio.create_task(self._tell())

    async def close(self) -> None:
        """Wait until no hint is due."""
        while self._task is not None:
            await asyncio.wait([self._task])

    async def _tell(self) -> None:
        try:
            while self._due:
                self._due = False
                await self._wake.notify()
                await asyncio.sleep(HINT_PAUSE_S)
        finally:
            self._task = None


class Committer:
    """Commits the writes of all requests, in up to `lanes` concurrent transactions of up to `group` writes."""

    def __init__(
        self, writes: MemoryWrites, wake: Wake, *, group: int, lanes: int, pressure: Pressure | None = None
    ) -> None:
        """`pressure` receives the outcome of each commit."""
        self._writes = writes
        self._pressure = pressure
        self._hints = Hints(wake)
        self._group = group
        self._lanes = lanes
        self._waiting: deque[tuple[Write, asyncio.Future[Outcome]]] = deque()
        self._running: set[asyncio.Task[None]] = set()
        self._busy = 0
        self._ended = asyncio.Event()
        self._bulk_turn = asyncio.Lock()

    async def remember(self, write: Write) -> Outcome:
        """Store one memory; return the outcome. Cancelling the caller does not cancel the write."""
        done: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._waiting.append((write, done))
        if self._busy < self._lanes:
            self._busy += 1
            lane = asyncio.create_task(self._drain())
            self._running.add(lane)
            lane.add_done_callback(self._running.discard)
        return await done

    async def remember_all(self, writes: Sequence[Write]) -> Sequence[Outcome]:
        """Store many memories of one caller in order, in separate transactions. Single writes take precedence."""
        outcomes: list[Outcome] = []
        for some in chunks(writes, min(self._group, BULK_ROWS)):
            outcomes += await self.may_wait(partial(self._writes.remember, some))
        return outcomes

    async def remember_each(self, items: Sequence[Write | Outcome]) -> Sequence[Outcome]:
        """Store the items that are still writes, as `remember_all` does. Return the outcomes of all items."""
        stored = iter(await self.remember_all([item for item in items if isinstance(item, Write)]))
        return [next(stored) if isinstance(item, Write) else item for item in items]

    async def may_wait(self, commit: Callable[[], Awaitable[T]]) -> T:
        """Run a bulk transaction, one at a time, after at most `SINGLE_FIRST` commits of single writes."""
        async with self._bulk_turn:
            passed = 0
            while self._busy and passed < SINGLE_FIRST:
                await self._ended.wait()
                passed += 1
            committed = await commit()
        self.hint()
        return committed

    def hint(self) -> None:
        """Notify the relay of a commit, without waiting."""
        self._hints.give()

    async def close(self) -> None:
        """Commit the waiting writes and send the due hint."""
        while self._running:
            await asyncio.wait(self._running)
        await self._hints.close()

    async def _drain(self) -> None:
        try:
            while self._waiting:
                taken = [self._waiting.popleft() for _ in range(min(len(self._waiting), self._group))]
                if await self._commit(taken):
                    self.hint()
                self._tell_bulk()
        finally:
            # Without an await since the last check of `_waiting`: a task counts as done only a moment later.
            self._busy -= 1
            self._tell_bulk()

    def _tell_bulk(self) -> None:
        self._ended.set()
        self._ended = asyncio.Event()

    async def _commit(self, taken: Sequence[tuple[Write, asyncio.Future[Outcome]]]) -> bool:
        """Commit one group. True if it was committed."""
        try:
            outcomes = await self._writes.remember([write for write, _ in taken])
        except Exception as error:  # noqa: BLE001 - each waiter gets the error, the lane continues
            if self._pressure is not None and isinstance(error, TryLater):
                self._pressure.failed(str(error))
            for _, done in taken:
                if not done.done():
                    done.set_exception(error)
            return False
        if self._pressure is not None:
            self._pressure.succeeded()
        for (_, done), outcome in zip(taken, outcomes, strict=True):
            if not done.done():
                done.set_result(outcome)
        return True
