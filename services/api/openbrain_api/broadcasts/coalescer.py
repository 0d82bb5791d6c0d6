"""Concurrent calls combined into one."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
R = TypeVar("R")
MOST = 500


class Coalescer(Generic[K, R]):
    """While a call for a key runs, further calls for that key wait and are then made as one: a fleet that does the same
    at once costs a few transactions. `call` receives the key and the items of all combined calls."""

    def __init__(self, call: Callable[[K, Sequence[str]], Awaitable[R]]) -> None:
        self._call = call
        self._waiting: dict[K, list[tuple[str, asyncio.Future[R]]]] = {}
        self._working: set[asyncio.Task[None]] = set()

    async def call(self, key: K, item: str) -> R:
        """Return the result of the combined call with this item, or raise its error."""
        result: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        scheduled = key in self._waiting
        self._waiting.setdefault(key, []).append((item, result))
        if not scheduled:
            task = asyncio.create_task(self._work(key))
            self._working.add(task)
            task.add_done_callback(self._working.discard)
        return await result

    async def _work(self, key: K) -> None:
        gathered: list[tuple[str, asyncio.Future[R]]] = []
        try:
            while gathered := self._waiting[key][:MOST]:
                del self._waiting[key][:MOST]
                await self._answer(key, gathered)
        finally:
            # Only a cancelled call leaves any: they would wait forever, as would every later call for this key.
            for _, result in (*gathered, *self._waiting.pop(key)):
                result.cancel()

    async def _answer(self, key: K, gathered: Sequence[tuple[str, asyncio.Future[R]]]) -> None:
        try:
            answer = await self._call(key, [item for item, _ in gathered])
        except Exception as error:  # noqa: BLE001 - every caller gets the error
            for _, result in gathered:
                if not result.done():
                    result.set_exception(error)
            return
        for _, result in gathered:
            if not result.done():
                result.set_result(answer)
