"""A thread that runs a model on waiting texts of all callers, as many per run as fit."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")
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

    def __init__(self, name: str, tokens_a_run: int) -> None:
        """`tokens_a_run` includes padding; a longer text runs alone."""
        self._pool = ThreadPoolExecutor(1, name)
        self._tokens = tokens_a_run
        self._waiting: deque[_Waiting] = deque()

    async def call(self, work: Callable[..., T], *arguments: object) -> T:
        """Call `work` in the thread."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, work, *arguments)

    async def run(self, work: Work[T], texts: Sequence[Pieces]) -> Sequence[T]:
        """Return the result of `work` for each text, in order. `work` gets at most as many texts as fit into one run;
        texts of other callers run in between."""
        results: list[Future[T]] = [Future() for _ in texts]
        # Texts of similar length need little padding.
        for number in sorted(range(len(texts)), key=lambda number: len(texts[number][0])):
            self._waiting.append(_Waiting(work, texts[number], results[number]))
            self._pool.submit(self._run_next)
        return await asyncio.gather(*map(asyncio.wrap_future, results))

    async def close(self) -> None:
        await asyncio.to_thread(self._pool.shutdown, cancel_futures=True)
        while self._waiting:
            self._waiting.popleft().result.cancel()

    def _run_next(self) -> None:
        if not (batch := self._next_run()):
            return
        try:
            done = batch[0].work([waiting.pieces for waiting in batch])
        except BaseException as error:  # noqa: BLE001 - whoever waits gets it, whatever it is
            for waiting in batch:
                waiting.result.set_exception(error)
        else:
            for waiting, result in zip(batch, done, strict=True):
                waiting.result.set_result(result)

    def _next_run(self) -> Sequence[_Waiting]:
        batch: list[_Waiting] = []
        longest = 0
        while self._waiting:
            waiting = self._waiting[0]
            longest = max(longest, len(waiting.pieces[0]))
            if batch and not self._fits(waiting, batch, longest):
                break
            self._waiting.popleft()
            if waiting.result.set_running_or_notify_cancel():
                batch.append(waiting)
        return batch

    def _fits(self, waiting: _Waiting, batch: Sequence[_Waiting], longest: int) -> bool:
        one_piece = len(waiting.pieces) == len(batch[0].pieces) == 1
        return one_piece and waiting.work == batch[0].work and (len(batch) + 1) * longest <= self._tokens
