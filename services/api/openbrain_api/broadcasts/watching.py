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
    """Yield server-sent events: the items numbered above `cursor`, new ones as they arrive, and heartbeats.

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
    """The pause before a client reconnects, random because thousands may lose their streams at once."""
    return retry(random.randint(*_BACK_MS))  # noqa: S311 - spreads clients, hides nothing


class Clock:
    """Wakes a listener for its heartbeats and its end. One timer per heartbeat: one timer per wait would be a third of
    the cost of a broadcast to a thousand listeners."""

    def __init__(self, listener: Listener, seconds: float | None, heartbeat_s: float) -> None:
        self.over = False
        self._listener, self._heartbeat_s = listener, heartbeat_s
        self._due = True
        self._timers: dict[str, asyncio.TimerHandle] = {}
        if seconds is not None:
            self._timers["end"] = asyncio.get_running_loop().call_later(seconds, self._end)

    def beats(self) -> bool:
        """True if a heartbeat is due; starts the time until the next one."""
        due, self._due = self._due, False
        if due:
            self._timers["beat"] = asyncio.get_running_loop().call_later(self._heartbeat_s, self._beat)
        return due

    def close(self) -> None:
        """Cancel the timers."""
        for timer in self._timers.values():
            timer.cancel()

    def _beat(self) -> None:
        self._due = True
        self._listener.notify()

    def _end(self) -> None:
        self.over = True
        self._listener.notify()


def written(viewer: Viewer, cursor: int, news: Sequence[EncodedBroadcast]) -> bytes:
    """Encode the broadcasts after `cursor` as the viewer may see them. Those past their retention are sent as skipped:
    the state, which was sent first, covers them."""
    lost = news[0].seq - cursor - 1
    before = skipped(cursor + 1, cursor + lost) if lost > 0 else b""
    return before + frames(viewer, news)
