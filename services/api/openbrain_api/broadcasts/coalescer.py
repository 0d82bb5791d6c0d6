"""Calls that come at once, made as one."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
R = TypeVar("R")
MOST = 500


class Coalescer(Generic[K, R]):
    """While a call of a key is under way, the next of that key gather and are made together: a fleet that says the same
    at once costs a few transactions. `call` is given the key and each one's item."""

    def __init__(self, call: Callable[[K, Sequence[str]], Awaitable[R]]) -> None:
        self._call = call
        self._waiting: dict[K, list[tuple[str, asyncio.Future[R]]]] = {}
        self._working: set[asyncio.Task[None]] = set()

    async def call(self, key: K, item: str) -> R:
        """The answer of the call that this item was part of, or its error."""
        result: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        scheduled = key in self._waiting
        self._waiting.setdefault(key, []).append((item, result))
        if not scheduled:
            task = asyncio.create_task(self._work(key))
            self._working.add(task)
            task.add_done_callback(self._working.discard)
        return await result

    async def _work(self, key: K) -> None:
        while gathered := self._waiting[key][:MOST]:
            del self._waiting[key][:MOST]
            try:
                answer = await self._call(key, [item for item, _ in gathered])
            except Exception as error:  # noqa: BLE001 - each of them is told
                for _, result in gathered:
                    if not result.done():
                        result.set_exception(error)
                continue
            for _, result in gathered:
                if not result.done():
                    result.set_result(answer)
        del self._waiting[key]
