"""State that the loops of one service share."""

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
    """The service is closing: what is not begun is left for another."""


def consumer_name() -> str:
    """A name that no process had before."""
    return f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"


@dataclass
class Runtime:
    """One running service. What a stream that is read apart from the others shares with them is changed in place."""

    group: str
    settings: Streams
    lock: asyncio.Lock
    """One handler of the service at a time."""
    handler_limit_s: float
    """A handler that runs longer counts as stuck."""
    consumer: str = field(default_factory=consumer_name)
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    clock: Callable[[], float] = time.monotonic
    breaker: Breaker = field(init=False)
    paused: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while the consumer is paused: nothing new is read; what is parked or pending stays so."""
    replaying: set[str] = field(default_factory=set)
    """The replays of this group that there are now (full stream names)."""
    deadlines: dict[str, float] = field(default_factory=dict)
    """The time by which each loop must report again."""

    def __post_init__(self) -> None:
        pauses = Backoff(self.settings.tuning.breaker_s, self.settings.tuning.breaker_max_s)
        self.breaker = Breaker(self.group, pauses, self.clock)

    async def sleep(self, seconds: float) -> None:
        """Wait; raise `Closing` as soon as the service closes."""
        if await _comes(self.closing, seconds):
            raise Closing

    async def until_closed(self, timeout: float | None = None) -> bool:
        """Wait for the end, at most so long; whether it came."""
        return await _comes(self.closed, timeout)

    async def until_dependencies_answer(self) -> None:
        """Wait while the breaker is open."""
        while (pause := self.breaker.wait_s()) > 0:
            await self.sleep(pause)

    def heartbeat(self, loop: str, allowed_s: float = 60) -> None:
        """A loop is alive, and will be heard of again within this time."""
        self.deadlines[loop] = self.clock() + allowed_s

    def stuck(self) -> list[str]:
        """The loops that were not heard of in time."""
        now = self.clock()
        return [loop for loop, deadline in self.deadlines.items() if deadline < now]


async def _comes(event: asyncio.Event, timeout: float | None) -> bool:
    try:
        async with asyncio.timeout(timeout):
            await event.wait()
    except TimeoutError:
        return False
    return True
