"""The sources of a subscriber: the stream, the API while the stream does not answer, and periodic reads of the
state."""

import asyncio
import random
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, NoReturn

from openbrain.client import event_log
from openbrain.client.subscriber.api import Api, Entry, Missed, News, Present, Stream
from openbrain.client.subscriber.received import ReceivedSignals
from openbrain.domain.errors import Conflict, NotFound, OpenBrainError, TryLater
from openbrain.domain.tasks import Backoff, cancel

_log = event_log.get_logger(__name__)
_PAUSE_S, _PAUSE_MAX_S = 0.1, 2.0
_ACKNOWLEDGE_MAX_S = 10.0
"""Longest pause before acknowledging again: the whole fleet acknowledges at once, and the API needs time."""
_SPREAD_S = 0.5
"""Acknowledging begins within this time: broadcasts go first, on both sides."""
_GAP_S = 1.0
"""How long a received broadcast waits for missing ones before it."""
Loop = Callable[[], Coroutine[Any, Any, NoReturn]]


class Listening:
    """The loops that fill one `ReceivedSignals`; each runs forever, whatever fails."""

    def __init__(self, hearing: ReceivedSignals, api: Api, stream: Stream | None, beat_s: float) -> None:
        self._hearing, self._api, self._stream, self._beat_s = hearing, api, stream, beat_s
        self._one_look = asyncio.Lock()
        self._called = asyncio.Event()
        self._alone = asyncio.Event()
        """Set while the API is the only source."""
        if stream is None:
            self._alone.set()
        self._acknowledged: set[str] = set()
        self._filling: asyncio.Task[None] | None = None

    def loops(self) -> list[Loop]:
        """Return the loops to run concurrently."""
        reading = [] if self._stream is None else [partial(self._read, self._stream)]
        return [self._look_now_and_then, self._follow_api, self._acknowledge, *reading]

    @property
    def by_stream(self) -> bool:
        """Whether the stream is being read now."""
        return not self._alone.is_set()

    async def look(self) -> None:
        """Read the present state, and the broadcasts missing before it."""
        async with self._one_look:
            hearing = self._hearing
            known = hearing.progress.done if hearing.placed.is_set() else None
            state = await self._api.present(hearing.handled)
            await hearing.present(state, known)
            await self._refill(state.seq)

    async def _refill(self, until: int) -> None:
        progress = self._hearing.progress
        while progress.done < until or progress.gap:
            before = progress.done
            page = await self._api.missed(before)
            if self._hearing.progress is not progress:
                return  # the database was restored meanwhile: these numbers no longer count
            await self._hearing.missed(page)
            if progress.done == before:
                return

    async def _look_now_and_then(self) -> NoReturn:
        backoff, trouble = Backoff(_PAUSE_S, _PAUSE_MAX_S), _Trouble("api")
        while True:
            try:
                await self.look()
            except OpenBrainError as error:
                trouble.met(error)
                await asyncio.sleep(backoff.next())
                continue
            trouble.over()
            backoff.reset()
            try:
                async with asyncio.timeout(self._beat_s * random.uniform(0.8, 1.2)):  # noqa: S311 - spreads the fleet
                    await self._called.wait()
            except TimeoutError:
                pass
            self._called.clear()

    async def _follow_api(self) -> NoReturn:
        backoff, hearing = Backoff(_PAUSE_S, _PAUSE_MAX_S), self._hearing
        await hearing.placed.wait()
        while True:
            await self._alone.wait()
            try:
                progress, known = hearing.progress, hearing.progress.done
                async for news in self._api.stream(known):
                    backoff.reset()
                    if hearing.progress is not progress:
                        break  # the database was restored meanwhile: these numbers no longer count
                    await self._hear(news, known)
                    if not self._alone.is_set():
                        break
                else:
                    await asyncio.sleep(backoff.next())
            except OpenBrainError:
                self._called.set()
                await asyncio.sleep(backoff.next())

    async def _hear(self, news: News, known: int) -> None:
        match news:
            case Present() if news.seq < known:
                # A replica may lag; reading the state from the database shows whether it was restored.
                self._called.set()
            case Present():
                await self._hearing.present(news, known)
            case Missed():
                await self._hearing.missed(news)
            case None:
                self._hearing.contact()

    async def _read(self, stream: Stream) -> NoReturn:
        backoff, hearing, trouble = Backoff(_PAUSE_S, _PAUSE_MAX_S), self._hearing, _Trouble("stream")
        is_missing = False
        await hearing.placed.wait()
        while True:
            try:
                entries = await stream.after(hearing.position)
                if not entries:
                    was_missing, is_missing = is_missing, await stream.last() < hearing.position
                    if is_missing and not was_missing:
                        self._called.set()  # its entries may not have been received
            except TryLater as error:
                trouble.met(error)
                # The API's stream begins with the present state and what was missed, so the state is not read in
                # addition: a whole fleet loses its stream server at once.
                self._alone.set()
                await asyncio.sleep(backoff.next())
                continue
            trouble.over()
            backoff.reset()
            if self._alone.is_set():
                self._called.set()
                self._alone.clear()
            hearing.contact()
            await self._take(entries)

    async def _take(self, entries: Sequence[Entry]) -> None:
        hearing = self._hearing
        broadcasts = [broadcast for _, broadcast in entries if broadcast is not None]
        for broadcast in broadcasts:
            hearing.halts_of(broadcast)
        for broadcast in broadcasts:
            if broadcast.seq > hearing.progress.done + 1:
                await self._fill_before(broadcast.seq)
            await hearing.take(broadcast)
        if entries:
            hearing.position = max(hearing.position, entries[-1][0])
        if hearing.progress.gap or hearing.position > hearing.progress.top:
            self._called.set()

    async def _fill_before(self, seq: int) -> None:
        """Fetch missing broadcasts first, if they arrive soon."""
        # Not cancelled if it takes longer: HTTP clients handle cancellation badly.
        if self._filling is None or self._filling.done():
            self._filling = asyncio.create_task(self._refill(seq - 1))
            self._filling.add_done_callback(heeded)
        await asyncio.wait({self._filling}, timeout=_GAP_S)
        if not self._filling.done() or self._filling.exception() is not None:
            self._called.set()

    async def close(self) -> None:
        """Cancel the task that was started in addition to the loops."""
        await cancel(self._filling)

    async def _acknowledge(self) -> NoReturn:
        backoff = Backoff(_PAUSE_S, _ACKNOWLEDGE_MAX_S)
        while True:
            moved = asyncio.ensure_future(self._hearing.moved())
            try:
                if self._not_acknowledged():
                    # Others are still to receive it.
                    await asyncio.sleep(random.uniform(0, _SPREAD_S))  # noqa: S311 - spreads the fleet
                for halt_id in self._not_acknowledged():
                    await self._acknowledge_one(halt_id)
                backoff.reset()
                await moved
            except OpenBrainError:
                await asyncio.sleep(backoff.next())
            finally:
                moved.cancel()

    def _not_acknowledged(self) -> list[str]:
        open_halts = [halt.id for halt in self._hearing.halts.standing]
        self._acknowledged.intersection_update(open_halts)
        return [halt_id for halt_id in open_halts if halt_id not in self._acknowledged]

    async def _acknowledge_one(self, halt_id: str) -> None:
        try:
            await self._api.acknowledge(halt_id)
        except (NotFound, Conflict):
            self._called.set()  # it is over, but that was not received yet
        self._acknowledged.add(halt_id)


def heeded(task: asyncio.Task[None]) -> None:
    """Done callback: mark the error of a task that nobody awaits as retrieved; other loops try again."""
    if not task.cancelled():
        task.exception()


class _Trouble:
    """Logs when one source fails, and when it works again."""

    def __init__(self, way: str) -> None:
        self._way = way
        self._error = ""

    def met(self, error: Exception) -> None:
        """Log an error, if it is of another kind than the last one."""
        name = type(error.__cause__ or error).__name__
        if self._error != name:
            self._error = name
            _log.warning("subscriber.trouble", way=self._way, error=self._error)

    def over(self) -> None:
        if self._error:
            self._error = ""
            _log.info("subscriber.trouble_over", way=self._way)
