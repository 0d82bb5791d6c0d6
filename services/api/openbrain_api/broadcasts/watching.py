"""One client's stream of server-sent events."""

import asyncio
import random
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from openbrain.domain.access.visibility import Viewer
from openbrain.domain.errors import TryLater
from openbrain_api.broadcasts.channel import Listener
from openbrain_api.broadcasts.frames import HEARTBEAT, EncodedBroadcast, frame, frames, retry, skipped
from openbrain_api.broadcasts.hub import Hub

_PAUSE_S = 0.5
_BACK_MS = (500, 1500)
"""The pause before a client that lost its stream comes back: thousands lose theirs at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """A client's choice of broadcasts, and their form."""

    hub: Hub
    viewer: Viewer
    state: bytes
    """The present state as JSON, which is sent first."""
    seq: int
    """Of that state."""
    after: int | None
    """The last number that the client has; None for one that begins."""
    seconds: float | None
    """After which it ends; None for never."""
    heartbeat_s: float
    note: Callable[[int], None]
    """Called with the number reached, at the beginning and with every heartbeat."""


async def watched(watch: Watch, gone: Listener) -> AsyncGenerator[bytes, None]:
    """State first, then what was missed, then what comes, and heartbeats meanwhile. Where it ends the client comes back
    and says how far it was."""
    fresh = watch.after is None or watch.after > watch.seq
    cursor = watch.seq if watch.after is None or fresh else watch.after
    state = frame("state", watch.state, cursor if fresh else None)
    yield retry(random.randint(*_BACK_MS)) + state  # noqa: S311 - spreads clients, hides nothing
    with beating(watch.seconds, watch.heartbeat_s, gone) as clock:
        async with watch.hub.listener(watch.viewer.workspace_id, gone) as channel:
            while not gone.ended:
                if clock.beats():
                    yield HEARTBEAT
                    watch.note(cursor)
                try:
                    news = await channel.after(cursor)
                except TryLater:
                    if clock.over:
                        return
                    await gone.wait(_PAUSE_S)
                    continue
                if news:
                    yield _encoded(watch.viewer, cursor, news)
                    cursor = news[-1].seq
                elif clock.over:
                    return
                else:
                    await gone.wait()


class Clock:
    """The times at which a listener sends a heartbeat and ends. One timer a heartbeat, for one a wait is a third of
    what a broadcast to a thousand costs."""

    def __init__(self, gone: Listener, heartbeat_s: float) -> None:
        self.over = False
        self._gone, self._heartbeat_s = gone, heartbeat_s
        self._due = True
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def beats(self) -> bool:
        """Whether it is time for a heartbeat, which then counts as given."""
        due, self._due = self._due, False
        if due:
            self._timers["beat"] = asyncio.get_running_loop().call_later(self._heartbeat_s, self._beat)
        return due

    def ends_in(self, seconds: float) -> None:
        """End it after so many seconds."""
        self._timers["end"] = asyncio.get_running_loop().call_later(seconds, self._end)

    def stop(self) -> None:
        """Nobody is told any more."""
        for timer in self._timers.values():
            timer.cancel()

    def _beat(self) -> None:
        self._due = True
        self._gone.tell()

    def _end(self) -> None:
        self.over = True
        self._gone.tell()


@contextmanager
def beating(seconds: float | None, heartbeat_s: float, gone: Listener) -> Iterator[Clock]:
    """A clock for one stream, which ends after `seconds`; None for never."""
    made = Clock(gone, heartbeat_s)
    if seconds is not None:
        made.ends_in(seconds)
    try:
        yield made
    finally:
        made.stop()


def _encoded(viewer: Viewer, cursor: int, news: Sequence[EncodedBroadcast]) -> bytes:
    """Broadcasts past their retention are sent as skipped: the state, which came first, covers them."""
    lost = news[0].seq - cursor - 1
    before = skipped(cursor + 1, cursor + lost) if lost > 0 else b""
    return before + frames(viewer, news)
