"""One client's stream of server-sent events."""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import closing
from typing import Protocol, TypeVar

from openbrain.domain.access.visibility import Viewer
from openbrain.domain.errors import TryLater
from openbrain_api.broadcasts.channel import Listener
from openbrain_api.broadcasts.frames import HEARTBEAT, EncodedBroadcast, frames, retry, skipped

_PAUSE_S = 0.5
_BACK_MS = (500, 1500)


class Numbered(Protocol):
    """An item of a numbered stream."""

    @property
    def seq(self) -> int: ...


T = TypeVar("T", bound=Numbered)


async def following(
    read: Callable[[int], Awaitable[Sequence[T]]],
    cursor: int,
    listener: Listener,
    written: Callable[[int, Sequence[T]], bytes],
    *,
    seconds: float | None,
    heartbeat_s: float,
    note: Callable[[int], None] = lambda _: None,
) -> AsyncGenerator[bytes, None]:
    """Server-sent events: items numbered above `cursor`, new ones as they come, and heartbeats in between.

    `read` returns the items after a number, or none; `written` encodes them. Ends after `seconds` (None: never), or
    when `listener` has ended. `note` is called with the number reached, at the beginning and with every heartbeat.
    """
    with closing(Clock(listener, seconds, heartbeat_s)) as clock:
        while not listener.ended:
            if clock.beats():
                yield HEARTBEAT
                note(cursor)
            try:
                news = await read(cursor)
            except TryLater:
                if clock.over:
                    return
                await listener.wait(_PAUSE_S)
                continue
            if news:
                yield written(cursor, news)
                cursor = news[-1].seq
            elif clock.over:
                return
            else:
                await listener.wait()


def come_back() -> bytes:
    """The pause before a client that lost its stream comes back and says how far it was: thousands lose theirs at
    once."""
    return retry(random.randint(*_BACK_MS))  # noqa: S311 - spreads clients, hides nothing


class Clock:
    """The times at which a listener sends a heartbeat and ends. One timer a heartbeat, for one a wait is a third of
    what a broadcast to a thousand costs."""

    def __init__(self, listener: Listener, seconds: float | None, heartbeat_s: float) -> None:
        self.over = False
        self._listener, self._heartbeat_s = listener, heartbeat_s
        self._due = True
        self._timers: dict[str, asyncio.TimerHandle] = {}
        if seconds is not None:
            self._timers["end"] = asyncio.get_running_loop().call_later(seconds, self._end)

    def beats(self) -> bool:
        """Whether it is time for a heartbeat, which then counts as given."""
        due, self._due = self._due, False
        if due:
            self._timers["beat"] = asyncio.get_running_loop().call_later(self._heartbeat_s, self._beat)
        return due

    def close(self) -> None:
        """Nobody is told any more."""
        for timer in self._timers.values():
            timer.cancel()

    def _beat(self) -> None:
        self._due = True
        self._listener.tell()

    def _end(self) -> None:
        self.over = True
        self._listener.tell()


def written(viewer: Viewer, cursor: int, news: Sequence[EncodedBroadcast]) -> bytes:
    """Broadcasts behind `cursor` as the viewer may hear them. Those past their retention are sent as skipped: the
    state, which came first, covers them."""
    lost = news[0].seq - cursor - 1
    before = skipped(cursor + 1, cursor + lost) if lost > 0 else b""
    return before + frames(viewer, news)
