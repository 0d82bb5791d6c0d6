"""State shared by the loops of one service."""

import asyncio
import os
import secrets
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from openbrain.domain.tasks import Backoff
from openbrain.settings import Streams
from openbrain.streams.handling.breaker import Breaker


class Closing(Exception):
    """The service is closing: work not yet begun is left for another process."""


def consumer_name() -> str:
    """Return a consumer name that no process has used before."""
    return f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"


@dataclass
class Runtime:
    """One running service. A stream with a separate lock shares its mutable members: they are changed in place."""

    group: str
    settings: Streams
    lock: asyncio.Lock
    """Allows one handler of the service at a time."""
    handler_limit_s: float
    """Seconds after which a running handler counts as stuck."""
    consumer: str = field(default_factory=consumer_name)
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    clock: Callable[[], float] = time.monotonic
    breaker: Breaker = field(init=False)
    paused: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while the group is paused: nothing new is read; parked and pending entries stay as they are."""
    replaying: set[str] = field(default_factory=set)
    """The existing replays of this group (full stream names)."""
    open_breakers: set[Breaker] = field(default_factory=set)
    """Those of all streams; a stream with a separate lock has its own."""
    deadlines: dict[str, float] = field(default_factory=dict)
    """The time by which each loop must report again."""

    def __post_init__(self) -> None:
        pauses = Backoff(self.settings.tuning.breaker_s, self.settings.tuning.breaker_max_s)
        self.breaker = Breaker(self.group, pauses, self.clock)

    async def sleep(self, seconds: float) -> None:
        """Sleep; raise `Closing` as soon as the service closes."""
        if await _comes(self.closing, seconds):
            raise Closing

    async def until_closed(self, timeout: float | None = None) -> bool:
        """Wait until the service is closed, at most this long; return whether it is."""
        return await _comes(self.closed, timeout)

    async def until_dependencies_answer(self) -> None:
        """Wait while the breaker is open."""
        while (pause := self.breaker.wait_s()) > 0:
            await self.sleep(pause)

    def heartbeat(self, loop: str, allowed_s: float = 60) -> None:
        """Note that a loop is alive; it must report again within this time."""
        self.deadlines[loop] = self.clock() + allowed_s

    def stuck(self) -> list[str]:
        """Return the loops that did not report in time."""
        now = self.clock()
        return [loop for loop, deadline in self.deadlines.items() if deadline < now]


async def _comes(event: asyncio.Event, timeout: float | None) -> bool:
    try:
        async with asyncio.timeout(timeout):
            await event.wait()
    except TimeoutError:
        return False
    return True
