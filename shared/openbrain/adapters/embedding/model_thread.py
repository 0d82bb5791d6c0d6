"""A thread that runs a model on waiting texts of all callers, as many per run as fit."""

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")
IDLE_S = 0.0003
"""A turn of the event loop that takes less had nothing to do."""
Pieces = list[list[int]]
"""The token ids of one text: one list, or several if it is longer than the model's window."""
Texts = Sequence[Pieces]
"""The texts of one run: several with one piece each, or a single text."""
Work = Callable[[Texts], Sequence[T]]


class _Waiting(NamedTuple):
    work: Work[Any]
    pieces: Pieces
    result: "Future[Any]"


class ModelThread:
    """Texts that wait at the same moment share a run: for short texts most of a run is reading the weights."""

    def __init__(
        self, name: str, tokens_a_run: int, *, gather_s: float = 0.0, now: Callable[[], float] = time.perf_counter
    ) -> None:
        """`tokens_a_run` includes padding; a longer text runs alone. `gather_s`: how long a text waits, at most, while
        the event loop is busy, if the text before it came within this time: then others may come for the same run."""
        self._pool = ThreadPoolExecutor(1, name)
        self._tokens = tokens_a_run
        self._gather_s, self._now = gather_s, now
        self._waiting: deque[_Waiting] = deque()
        self._asked_at = -math.inf
        self._gathering: asyncio.AbstractEventLoop | None = None
        """The loop that will tell the thread of waiting texts."""
        self._closed = False

    async def call(self, work: Callable[..., T], *arguments: object) -> T:
        """Call `work` in the thread."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, work, *arguments)

    async def run(self, work: Work[T], texts: Sequence[Pieces]) -> Sequence[T]:
        """Return the result of `work` for each text, in order. It gets at most as many texts as fit into one run;
        texts of other callers run in between."""
        results: dict[int, T] = {}
        for some in self._runs(texts):
            results |= zip(
                some, await asyncio.gather(*(self._ask(work, texts[number]) for number in some)), strict=True
            )
        return [results[number] for number in range(len(texts))]

    async def close(self) -> None:
        self._closed = True
        await asyncio.to_thread(self._pool.shutdown, cancel_futures=True)
        while self._waiting:
            self._waiting.popleft().result.cancel()

    def _runs(self, texts: Sequence[Pieces]) -> Iterator[Sequence[int]]:
        """Split the positions of the texts into runs, shortest texts first: similar lengths need little padding."""
        some: list[int] = []
        for number in sorted(range(len(texts)), key=lambda number: len(texts[number][0])):
            if some and not self._fit([*(texts[other] for other in some), texts[number]]):
                yield some
                some = []
            some.append(number)
        if some:
            yield some

    def _ask(self, work: Work[T], pieces: Pieces) -> "asyncio.Future[T]":
        if self._closed:
            raise RuntimeError("the model is closed")
        result: Future[T] = Future()
        self._waiting.append(_Waiting(work, pieces, result))
        loop, now = asyncio.get_running_loop(), self._now()
        if not self._gather_s:
            self._pool.submit(self._run_next)
        elif self._gathering is not loop:  # a loop that ended meanwhile will not tell
            self._gathering = loop
            others = now - self._asked_at < self._gather_s
            loop.call_soon(self._gather, loop, now + self._gather_s * others, now)
        self._asked_at = now
        return asyncio.wrap_future(result)

    def _gather(self, loop: asyncio.AbstractEventLoop, until: float, before: float) -> None:
        """Tell the thread when a turn of the event loop had nothing to do, but by `until`. `before`: when the turn
        began."""
        now = self._now()
        if now - before >= IDLE_S and now < until:
            loop.call_soon(self._gather, loop, until, now)
            return
        self._gathering = None
        if not self._closed:
            # They may take as many runs.
            for _ in range(len(self._waiting)):
                self._pool.submit(self._run_next)

    def _run_next(self) -> None:
        if not (batch := self._next_run()):
            return
        try:
            results = batch[0].work([waiting.pieces for waiting in batch])
            done = list(zip(batch, results, strict=True))
        except BaseException as error:  # noqa: BLE001 - whoever waits gets it, whatever it is
            for waiting in batch:
                waiting.result.set_exception(error)
        else:
            for waiting, result in done:
                waiting.result.set_result(result)

    def _next_run(self) -> Sequence[_Waiting]:
        batch: list[_Waiting] = []
        while self._waiting:
            waiting = self._waiting[0]
            together = [*(other.pieces for other in batch), waiting.pieces]
            if batch and not (waiting.work == batch[0].work and self._fit(together)):
                break
            self._waiting.popleft()
            if waiting.result.set_running_or_notify_cancel():
                batch.append(waiting)
        return batch

    def _fit(self, texts: Sequence[Pieces]) -> bool:
        """True if these texts, more than one, may share a run."""
        longest = max(len(pieces[0]) for pieces in texts)
        return all(len(pieces) == 1 for pieces in texts) and len(texts) * longest <= self._tokens
