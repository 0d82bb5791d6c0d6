"""A steady load at a fixed rate, however long answers take: writes of every kind, and recalls.

A slow answer does not delay the next request, so waiting times count in full.
"""

import asyncio
import itertools
import random
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

import httpx
import orjson

from benchmarks.support.texts import questions, texts
from openbrain.domain.events.envelope import FIELD
from openbrain.domain.events.streams import STORED
from tests.integration.conftest import Servers
from tests.properties.rebuild.samples import Recall, Samples, Span, Write
from tests.support.store.fixtures import rows

LOOK_S = 0.05
"""Seconds between two checks of what is indexed."""
HOWS = ("remember", "remember", "update", "stream", "remember", "forget", "remember", "update", "stream", "remember")


class Load:
    """Runs from `begin` to `finish`; `stop` ends it in any case."""

    def __init__(
        self, servers: Servers, http: httpx.AsyncClient, filled: list[str], seed: int, hows: Sequence[str] = HOWS
    ) -> None:
        """`filled`: memories that may be changed, each once. `hows`: the ways of writing, used in turn."""
        self._servers, self._http = servers, http
        self.samples = Samples()
        self.expected: dict[str, str | None] = {}
        """The last acknowledged content of each memory that was written; None for a forgotten one."""
        chance = random.Random(seed)
        self._targets = chance.sample(filled, len(filled))
        self._texts = itertools.cycle(texts(10_000, seed + 1))
        self._questions = itertools.cycle(questions(20_000, seed + 2))
        self._ways = frozenset(hows)
        self._hows: Iterator[str] = itertools.cycle(hows)
        self._numbers = itertools.count()
        self._streamed: dict[str, tuple[Write, str]] = {}
        self._one_at_a_time = asyncio.Lock()
        """A single connection to Redis, as a producer has."""
        self._waiting: dict[int, Write] = {}
        self._over = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._running: set[asyncio.Future[None]] = set()
        self._broke: BaseException | None = None

    async def begin(self, writes: float, recalls: float) -> None:
        """Start this many writes and recalls per second."""
        work = [self._steadily(writes, self._write), self._steadily(recalls, self._recall), self._look()]
        if "stream" in self._ways:
            stream = self._servers.prefix + STORED.name
            last: Any = await self._servers.redis.xrevrange(stream, count=1)
            work.append(self._hear(stream, last[0][0].decode() if last else "0-0"))
        self._tasks = [asyncio.create_task(each) for each in work]

    async def finish(self) -> None:
        """Start no more, and wait for what was submitted."""
        self._over.set()
        for each in self._tasks[:2]:
            await each
        await asyncio.gather(*self._running)
        await self.settled(time.monotonic())

    async def stop(self) -> None:
        """Stop at once, whatever is in progress."""
        running = [*self._tasks, *self._running]
        for each in running:
            each.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def settled(self, until: float, patience_s: float = 300) -> bool:
        """Wait until everything submitted before `until` is indexed; return whether that was in time."""
        limit = time.monotonic() + patience_s
        while any(each.at <= until for each in self._open()):
            if time.monotonic() > limit:
                return False
            self._still_runs()
            await asyncio.sleep(LOOK_S)
        return True

    async def quiet(self, seconds: float) -> Span:
        """Run nothing but the load for this long."""
        begin = time.monotonic()
        await asyncio.sleep(seconds)
        self._still_runs()
        return Span(begin, time.monotonic())

    def _still_runs(self) -> None:
        if self._broke is not None:
            raise self._broke
        for each in self._tasks:
            if each.done() and not self._over.is_set():
                each.result()

    def _open(self) -> list[Write]:
        return [*self._waiting.values(), *(write for write, _ in self._streamed.values())]

    async def _steadily(self, rate: float, act: Callable[[], Awaitable[None]]) -> None:
        begun = time.monotonic()
        for number in itertools.count(1):
            task = asyncio.ensure_future(act())
            self._running.add(task)
            task.add_done_callback(self._ended)
            pause = begun + number / rate - time.monotonic()
            if pause > 0:
                await asyncio.sleep(pause)
            if self._over.is_set():
                return

    def _ended(self, task: "asyncio.Future[None]") -> None:
        self._running.discard(task)
        if not task.cancelled():
            self._broke = self._broke or task.exception()

    async def _recall(self) -> None:
        at, failed = time.monotonic(), ""
        try:
            answer = await self._http.post("/v1/brain/recall", json={"query": next(self._questions), "top_k": 5})
            told = answer.json()
            if answer.status_code != 200:
                failed = str(answer.status_code)
            elif told["degraded"]:
                failed = f"without {', '.join(told['degraded'])}"
            elif not told["memories"]:
                failed = "empty"
        except httpx.HTTPError as error:
            failed = type(error).__name__
        self.samples.recalls.append(Recall(at, time.monotonic() - at, failed))

    async def _write(self) -> None:
        number, how = next(self._numbers), next(self._hows)
        if how in {"update", "forget"} and not self._targets:
            how = "remember"
        content = f"{next(self._texts)} by load {number}"
        write = Write(how, time.monotonic())
        self.samples.writes.append(write)
        if how == "stream":
            self._streamed[f"s-{number}"] = write, content
            async with self._one_at_a_time:
                await self._servers.submit(number, content)
            return
        try:
            memory_id = await self._asked(how, content)
        except httpx.HTTPError as error:
            write.failed = type(error).__name__ if not isinstance(error, httpx.HTTPStatusError) else str(error)[:60]
            write.answered = time.monotonic()
            return
        self._acknowledged(write, memory_id, None if how == "forget" else content)

    async def _asked(self, how: str, content: str) -> str:
        if how == "remember":
            body = {"content": content, "type": "fact"}
            answer = (await self._http.post("/v1/brain/remember", json=body)).raise_for_status()
            return str(answer.json()["id"])
        memory_id = self._targets.pop()
        if how == "update":
            await _good(self._http.patch(f"/v1/brain/memories/{memory_id}", json={"content": content}))
        else:
            await _good(self._http.delete(f"/v1/brain/forget/{memory_id}"))
        return memory_id

    def _acknowledged(self, write: Write, memory_id: str, content: str | None) -> None:
        write.memory_id, write.answered = memory_id, time.monotonic()
        self.expected[memory_id] = content
        self._waiting[id(write)] = write

    async def _hear(self, stream: str, after: str) -> None:
        """Read acknowledgements: submissions by XADD are acknowledged on `memory.stored`."""
        redis: Any = self._servers.redis
        while True:
            for _, entries in await redis.xread({stream: after}, count=500, block=500) or ():
                for entry, fields in entries:
                    after = entry.decode()
                    event = orjson.loads(fields[FIELD.encode()])
                    if event.get("causationid") in self._streamed:
                        write, content = self._streamed.pop(event["causationid"])
                        self._acknowledged(write, event["data"]["memory_id"], content)

    async def _look(self) -> None:
        """Note what is indexed: the row says what both indexes hold."""
        while True:
            asked = list(self._waiting.items())[:500]
            if asked:
                ids = ", ".join(f"'{each.memory_id}'" for _, each in asked)
                query = (
                    f"SELECT id FROM memories WHERE id IN ({ids}) "
                    "AND text_revision = revision AND vector_revision = revision"
                )
                done = {row["id"] for row in await rows(self._servers.store._database, query)}
                now = time.monotonic()
                for key, each in asked:
                    if each.memory_id in done:
                        each.indexed = now
                        del self._waiting[key]
            await asyncio.sleep(LOOK_S)


async def _good(request: Awaitable[httpx.Response]) -> None:
    (await request).raise_for_status()
