"""One workspace's broadcasts: read once, buffered for a while, and passed to every listener."""

import asyncio
import itertools
import time
from collections import deque
from collections.abc import Sequence

import structlog

from openbrain.domain.errors import OpenBrainError, error_places
from openbrain.domain.tasks import cancel
from openbrain.ports.store.signals import Broadcasts
from openbrain.ports.streams import BroadcastStream, StreamedBroadcast
from openbrain_api.broadcasts.frames import EncodedBroadcast, Unreadable, encoded

PAGE = 200
KEPT = 500
KEPT_BYTES = 2 * 1024 * 1024
LINGER_S = 10.0
"""Seconds for which a channel without listeners keeps reading, in case a client reconnects."""
_PAUSE_S = 0.25
_log = structlog.get_logger(__name__)


class Listener:
    """One listening client. `ended`: the client is gone, its key ended, another workspace takes its place, or the
    channel or the process closes."""

    def __init__(self, workspace_id: str = "") -> None:
        self.workspace_id = workspace_id
        self.ended = False
        self._news = asyncio.Event()

    def notify(self) -> None:
        """Wake the listener: there is something new."""
        self._news.set()

    def end(self) -> None:
        """End listening: nothing more will arrive, or nobody would read it."""
        self.ended = True
        self._news.set()

    async def wait(self, seconds: float | None = None) -> bool:
        """Wait for news. True if there was any since the last wait or within `seconds` (None: no limit)."""
        try:
            if seconds is None:
                await self._news.wait()
            else:
                async with asyncio.timeout(seconds):
                    await self._news.wait()
        except TimeoutError:
            return False
        self._news.clear()
        return True


class Channel:
    """Recent broadcasts of a workspace. They usually arrive by the stream server. The database is read to fill gaps,
    and every `look_s` while nothing arrives: a stream server that is down or lost its data delays them that long.

    `top`: the highest number so far. `recent`: the known broadcasts up to it.
    """

    def __init__(
        self,
        workspace_id: str,
        broadcasts: Broadcasts,
        stream: BroadcastStream,
        *,
        top: int,
        recent: Sequence[StreamedBroadcast],
        look_s: float,
    ) -> None:
        self.workspace_id = workspace_id
        self.top = top
        self.listeners: set[Listener] = set()
        self.left_at = time.monotonic()
        self._broadcasts = broadcasts
        self._stream = stream
        self._look_s = look_s
        self._place = top
        self._kept: deque[EncodedBroadcast] = deque()
        self._bytes = 0
        self._news_at = 0.0
        self._lock = asyncio.Lock()
        for broadcast in recent:
            self._keep(broadcast)
        self._tasks = [asyncio.create_task(self._hear()), asyncio.create_task(self._look())]
        for task in self._tasks:
            task.add_done_callback(self._ended)

    async def close(self) -> None:
        """Stop reading and end all listeners."""
        await cancel(*self._tasks)

    @property
    def open(self) -> bool:
        """True while both reading tasks run."""
        return not any(task.done() for task in self._tasks)

    def join(self, listener: Listener) -> None:
        """Wake this listener at each new broadcast."""
        self.listeners.add(listener)

    def leave(self, listener: Listener) -> None:
        """Stop waking this listener."""
        self.listeners.discard(listener)
        self.left_at = time.monotonic()

    async def after(self, seq: int) -> Sequence[EncodedBroadcast]:
        """Return the broadcasts after `seq` in order, one page at most. Raise `TryLater` if they are no longer buffered
        and the database does not answer."""
        if seq >= self.top:
            return ()
        if self._kept and self._kept[0].seq <= seq + 1:
            kept = list(itertools.takewhile(lambda broadcast: broadcast.seq > seq, reversed(self._kept)))
            return kept[: -PAGE - 1 : -1]
        rows = await self._broadcasts.broadcasts_after(self.workspace_id, seq, PAGE)
        return [encoded(StreamedBroadcast(row.seq, row.body)) for row in rows]

    def _stop(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def _hear(self) -> None:
        while True:
            try:
                await self._take(await self._stream.read(self.workspace_id, self._place, self._look_s))
            except OpenBrainError:
                await asyncio.sleep(_PAUSE_S)

    async def _take(self, broadcasts: Sequence[StreamedBroadcast]) -> None:
        for broadcast in broadcasts:
            if broadcast.seq > self.top + 1:
                await self._refill()
            # If the gap is still open, the entry is ignored: the database does not know its predecessors.
            if broadcast.seq == self.top + 1:
                try:
                    self._keep(broadcast)
                except Unreadable:
                    await self._refill()
                self._tell()
            self._place = broadcast.seq

    async def _look(self) -> None:
        while self.listeners or time.monotonic() - self.left_at < LINGER_S:
            await asyncio.sleep(self._look_s)
            if time.monotonic() - self._news_at < self._look_s:
                continue
            try:
                last = await self._broadcasts.last_seq(self.workspace_id)
                if last < self.top:
                    return  # the database was restored to an earlier state: all listeners start again
                if last > self.top:
                    await self._refill()
            except OpenBrainError:
                continue

    async def _refill(self) -> None:
        """Read the broadcasts after `top` from the database."""
        async with self._lock:
            while rows := await self._broadcasts.broadcasts_after(self.workspace_id, self.top, PAGE):
                for row in rows:
                    self._keep(StreamedBroadcast(row.seq, row.body))
                self._tell()

    def _keep(self, spoken: StreamedBroadcast) -> None:
        if self._kept and spoken.seq <= self._kept[-1].seq:
            return
        broadcast = encoded(spoken)
        self._kept.append(broadcast)
        self._bytes += broadcast.size
        while len(self._kept) > KEPT or (self._bytes > KEPT_BYTES and len(self._kept) > 1):
            self._bytes -= self._kept.popleft().size
        self.top = max(self.top, spoken.seq)

    def _tell(self) -> None:
        self._news_at = time.monotonic()
        for listener in self.listeners:
            listener.notify()

    def _ended(self, task: asyncio.Task[None]) -> None:
        """End all listeners after a task ended: nobody listened, or a bug. Clients reconnect to a new channel."""
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("api.hearing_failed", error=type(error).__name__, where=error_places(error))
        self._stop()
        for listener in self.listeners:
            listener.end()
