"""One client's stream of server-sent events."""

import math
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass

import orjson

from openbrain.errors import NeverRetry, OpenBrainError, TryLater
from openbrain.visibility import Viewer
from openbrain_api.broadcasts.channel import Listener
from openbrain_api.broadcasts.frames import HEARTBEAT, Heard, frame, frames, retry, skipped
from openbrain_api.broadcasts.hub import Hub
from openbrain_api.rendering import Json

_PAUSE_S = 0.5
_BACK_MS = (500, 1500)
"""When a client that lost its stream comes back: thousands lose theirs at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """What a client wants to hear, and how."""

    hub: Hub
    viewer: Viewer
    state: Json
    """The present state, as it is sent first."""
    seq: int
    """Of that state."""
    after: int | None
    """The last number that the client has; None for one that begins."""
    seconds: float | None
    """After which it ends; None for never."""
    heartbeat_s: float
    alive: Callable[[int], Awaitable[None]]
    """Called with the number reached, at the beginning and with every heartbeat; raises where the key is no more."""


async def watched(watch: Watch, gone: Listener) -> AsyncGenerator[bytes, None]:
    """State first, then what was missed, then what comes, and heartbeats meanwhile. Where it ends the client comes back
    and says how far it was."""
    fresh = watch.after is None or watch.after > watch.seq
    cursor = watch.seq if watch.after is None or fresh else watch.after
    state = frame("state", orjson.dumps(watch.state), cursor if fresh else None)
    yield retry(random.randint(*_BACK_MS)) + state  # noqa: S311 - spreads clients, hides nothing
    clock = _Clock(watch)
    async with watch.hub.listener(watch.viewer.workspace_id, gone) as channel:
        while not gone.ended:
            if clock.beats():
                yield HEARTBEAT
                if not await _lives(watch, cursor):
                    return
            try:
                found = await channel.after(cursor)
            except TryLater:
                if clock.left() <= 0:
                    return
                await gone.wait(_PAUSE_S)
                continue
            if found:
                yield _told(watch.viewer, cursor, found)
                cursor = found[-1].seq
            elif clock.left() <= 0:
                return
            else:
                await gone.wait(min(clock.left(), clock.until_beat()))


class _Clock:
    """When to say something, and when to end."""

    def __init__(self, watch: Watch) -> None:
        self._heartbeat_s = watch.heartbeat_s
        self._beat_at = 0.0
        self._ends_at = None if watch.seconds is None else time.monotonic() + watch.seconds

    def left(self) -> float:
        """Seconds until the end."""
        return math.inf if self._ends_at is None else self._ends_at - time.monotonic()

    def until_beat(self) -> float:
        return max(0.0, self._beat_at - time.monotonic())

    def beats(self) -> bool:
        """Whether it is time for a heartbeat, which then counts as given."""
        due = self.until_beat() <= 0
        if due:
            self._beat_at = time.monotonic() + self._heartbeat_s
        return due


async def _lives(watch: Watch, cursor: int) -> bool:
    """Whether the key still opens this stream. While nobody can tell it does."""
    try:
        await watch.alive(cursor)
    except NeverRetry:
        return False
    except OpenBrainError:
        return True
    return True


def _told(viewer: Viewer, cursor: int, found: Sequence[Heard]) -> bytes:
    """What was kept no longer is told as skipped: the state, which came first, knows what became of it."""
    lost = found[0].seq - cursor - 1
    before = skipped(cursor + 1, cursor + lost) if lost > 0 else b""
    return before + frames(viewer, found)
