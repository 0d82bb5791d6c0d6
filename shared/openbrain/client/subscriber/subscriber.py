"""The subscriber of an agent: receives every signal of its workspace at least once, and knows whether it must stop."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn, Self

from openbrain.client import event_log
from openbrain.client.subscriber.api import Api, Stream
from openbrain.client.subscriber.cursors import Cursor, MemoryCursor
from openbrain.client.subscriber.handling import handle
from openbrain.client.subscriber.inbox import Inbox
from openbrain.client.subscriber.received import ReceivedSignals
from openbrain.client.subscriber.sources import Listening, Loop, heeded
from openbrain.domain.errors import Halted, SetupError, TryLater, error_places
from openbrain.domain.events.data import Broadcast
from openbrain.domain.signals.values import Halt
from openbrain.domain.tasks import Backoff, cancel

_log = event_log.get_logger(__name__)
_SAVE_S = 1.0
Handler = Callable[[Broadcast], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The state of a subscriber."""

    cursor: int
    """Every signal up to this number was received."""
    halted: bool
    halts: tuple[Halt, ...]
    cut_off: bool
    by_stream: bool
    """Whether it receives by Redis now; else by the API."""
    messages: int | None = None
    """Every message of the inbox up to this number was handled; None if the inbox is not followed, or not yet."""


class Subscriber:
    """Receives signals while its `async with` block runs.

    `handler`: called with one signal at a time, in order of `seq`; again after a crash (at least once), and up to
    `attempts` times if it raises. If signals are missing and the API is unavailable, later ones are handled first and
    the missing ones when they arrive. Without a stored cursor, the signals that are active now are handled first.
    `inbox`: also follows the agent's messages and subscription matches.
    `stream`: receives by Redis; the API is used while Redis does not answer, and always without `stream`.
    `halted_when_cut_off_s`: after this long without an answer of any server the agent counts as halted; None: never.
    `beat_s`: how often the present state is read, which also reports that this agent is listening.
    `start_s`: how long `async with` waits for the present state before it continues without it.
    """

    def __init__(
        self,
        api: Api,
        handler: Handler,
        *,
        inbox: Inbox | None = None,
        stream: Stream | None = None,
        cursor: Cursor | None = None,
        org: str = "",
        project: str = "",
        halted_when_cut_off_s: float | None = None,
        beat_s: float = 30.0,
        start_s: float = 5.0,
        attempts: int = 5,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._api, self._handler, self._inbox, self._stream = api, handler, inbox, stream
        self._cursor = cursor or MemoryCursor()
        self._start_s, self._attempts = start_s, max(1, attempts)
        self._halted_when_cut_off_s = halted_when_cut_off_s
        self._hearing = ReceivedSignals(org, project, cut_off_s=halted_when_cut_off_s, clock=clock)
        self._listening = Listening(self._hearing, api, stream, beat_s)
        self._running: list[asyncio.Task[Any]] = []
        self._saved: int | None = None

    @property
    def standing(self) -> Standing:
        """The subscriber's present state."""
        hearing = self._hearing
        return Standing(
            cursor=hearing.progress.done,
            halted=hearing.halted,
            halts=hearing.halts.standing,
            cut_off=hearing.cut_off,
            by_stream=self._listening.by_stream,
            messages=None if self._inbox is None else self._inbox.seq,
        )

    async def guard(self, *, wait: bool = True) -> None:
        """Return when no halt is in force: at once, or after it was resumed. Without `wait` raise `Halted` instead."""
        while self._hearing.halted:
            if not wait:
                self.check()
            await self._hearing.moved()

    def check(self) -> None:
        """Raise `Halted` while a halt is in force; for code that can't wait."""
        if halts := self._hearing.halts.standing:
            raise Halted(f"halted by {', '.join(halt.id for halt in halts)}: wait until it is resumed")
        if self._hearing.cut_off:
            raise Halted(f"no server has answered for {self._halted_when_cut_off_s:.0f} s: wait for the connection")

    async def __aenter__(self) -> Self:
        try:
            await self._begin()
        except BaseException:
            await cancel(*self._running)
            await self._disconnect()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._listening.close()
        await cancel(*self._running)
        await self._save()
        await self._disconnect()

    async def _begin(self) -> None:
        kept = await self._cursor.load()
        if kept is not None:
            self._saved = self._hearing.handled = kept
            self._hearing.place(kept)
        first = asyncio.create_task(self._listening.look())
        self._running.append(first)
        if self._inbox is not None:
            self._running.append(asyncio.create_task(self._inbox.begin()))
        for task in self._running:
            task.add_done_callback(heeded)
        await asyncio.wait(self._running, timeout=self._start_s)
        error = first.exception() if first.done() else TimeoutError()
        if isinstance(error, TryLater | TimeoutError):
            _log.warning("subscriber.starts_alone", error=type(error).__name__)
        elif error is not None:
            raise error
        inbox: list[Loop] = [] if self._inbox is None else [partial(self._inbox.follow, self._attempts)]
        loops = (self._handle, *self._listening.loops(), *inbox)
        self._running += [asyncio.create_task(_for_ever(loop)) for loop in loops]

    async def _disconnect(self) -> None:
        await self._api.close()
        if self._stream is not None:
            await self._stream.close()

    async def _handle(self) -> NoReturn:
        queue, saved_at = self._hearing.queue, 0.0
        while True:
            broadcast, known = await queue.get()
            if broadcast is not None:
                await handle(self._handler, broadcast, seq=broadcast.seq, attempts=self._attempts)
            if known is not None:
                self._hearing.handled = known
            if queue.empty() or time.monotonic() - saved_at > _SAVE_S:
                await self._save()
                saved_at = time.monotonic()

    async def _save(self) -> None:
        handled = self._hearing.handled
        if handled is None or handled == self._saved:
            return
        try:
            await self._cursor.save(handled)
        except SetupError as error:
            _log.error("subscriber.cursor_not_saved", seq=handled, reason=str(error))
        else:
            self._saved = handled


async def _for_ever(loop: Loop) -> NoReturn:
    """Restart a loop that failed: a bug here must not stop the agent from receiving signals."""
    backoff = Backoff(0.5, 30)
    while True:
        try:
            await loop()
        except Exception as error:  # noqa: BLE001 - no error may end the loop
            _log.error("subscriber.loop_failed", error=type(error).__name__, where=error_places(error))
            await asyncio.sleep(backoff.next())
