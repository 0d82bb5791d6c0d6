"""Group commit without a timer: what arrives while a commit runs is the next transaction."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

from openbrain.domain.errors import TryLater
from openbrain.ports.store.writes import MemoryWrites, Outcome, Write
from openbrain.ports.streams import Wake
from openbrain.usecases.backpressure import Pressure
from openbrain_api.memories.bulk import GROUP, BulkLane
from openbrain_api.memories.hinting import Hints

T = TypeVar("T")


class Committer:
    """Writes of all requests, in as many transactions at once as the database has use for (`lanes`)."""

    def __init__(
        self, writes: MemoryWrites, wake: Wake, *, group: int, lanes: int, pressure: Pressure | None = None
    ) -> None:
        """`pressure` is told how the writes end."""
        self._writes = writes
        self._pressure = pressure
        self._hints = Hints(wake)
        self._group = group
        self._lanes = lanes
        self._waiting: deque[tuple[Write, asyncio.Future[Outcome]]] = deque()
        self._running: set[asyncio.Task[None]] = set()
        self._busy = 0
        self._ended = asyncio.Event()
        self._bulk = BulkLane(self)

    async def remember(self, write: Write) -> Outcome:
        """Stored, or why not. Who stops waiting does not stop the write."""
        done: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._waiting.append((write, done))
        if self._busy < self._lanes:
            self._busy += 1
            lane = asyncio.create_task(self._drain())
            self._running.add(lane)
            lane.add_done_callback(self._running.discard)
        return await done

    async def remember_all(self, writes: Sequence[Write]) -> Sequence[Outcome]:
        """Remember many of one caller, in order, in transactions of their own; single ones come first."""
        outcomes: list[Outcome] = []
        size = min(self._group, GROUP)
        for start in range(0, len(writes), size):
            some = writes[start : start + size]
            outcomes += await self.may_wait(partial(self._writes.remember, some))
        return outcomes

    async def may_wait(self, commit: Callable[[], Awaitable[T]]) -> T:
        """Run a transaction of many rows when single writes leave it its turn."""
        committed = await self._bulk.run(commit)
        self.hint()
        return committed

    @property
    def pressing(self) -> bool:
        """Whether a single write waits or is being committed."""
        return self._busy > 0

    async def next_commit(self) -> None:
        """Returns when a commit of single writes has ended."""
        await self._ended.wait()

    def hint(self) -> None:
        """Something was committed: tell the relay, without waiting for it."""
        self._hints.give()

    async def close(self) -> None:
        """Commit what is waiting."""
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
            # In the same step as the last look at what waits: a task ends a moment later.
            self._busy -= 1
            self._tell_bulk()

    def _tell_bulk(self) -> None:
        self._ended.set()
        self._ended = asyncio.Event()

    async def _commit(self, taken: Sequence[tuple[Write, asyncio.Future[Outcome]]]) -> bool:
        """Whether something was committed."""
        try:
            outcomes = await self._writes.remember([write for write, _ in taken])
        except Exception as error:  # noqa: BLE001 - each waiter is told, the lane goes on
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
