"""A client that listens to broadcasts, for tests."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any

from openbrain.client import OpenBrain
from openbrain.client.resources.signals import News
from openbrain.contract.amygdala.broadcasts import AmygdalaState, BroadcastAnswer
from openbrain.domain.errors import TryLater
from tests.support.waiting import until


class Ear:
    """A client that listens on one connection until the block ends."""

    def __init__(self, url: str, key: str, after: int | None = None, **place: Any) -> None:
        self.client = OpenBrain(url, key)
        self.heard: list[News] = []
        self.ended = False
        self._task = asyncio.create_task(self._listen(after, place))

    async def _listen(self, after: int | None, place: Any) -> None:
        with suppress(TryLater):
            async with aclosing(self.client.hear(after, **place)) as news:
                async for each in news:
                    self.heard.append(each)
        self.ended = True

    @property
    def numbers(self) -> list[int]:
        return [each.seq for each in self.heard if isinstance(each, BroadcastAnswer)]

    async def hears(self, *numbers: int) -> None:
        """Wait until exactly these broadcasts have arrived, in order, each once."""

        async def all_heard() -> bool:
            return self.numbers == list(numbers)

        await until(all_heard)

    async def hears_the_state(self) -> AmygdalaState:
        async def begun() -> bool:
            return bool(self.heard)

        await until(begun)
        first = self.heard[0]
        assert isinstance(first, AmygdalaState)
        return first

    async def ends(self) -> None:
        async def over() -> bool:
            return self.ended

        await until(over)

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])
        await self.client.close()


@asynccontextmanager
async def ear(url: str, key: str, after: int | None = None, **place: Any) -> AsyncIterator[Ear]:
    made = Ear(url, key, after, **place)
    try:
        yield made
    finally:
        await made.close()
