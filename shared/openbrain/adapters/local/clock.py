"""The time that stamps and comparisons of all hosts go by: the database's, where it is a server."""

import time
from collections.abc import Callable

from openbrain.domain.memory import MICROSECONDS
from openbrain.ports.clock import Clock

FRESH = 30 * MICROSECONDS
"""After so long the server is asked again, with the next transaction."""


class SystemClock:
    """Wall clock of this host in whole microseconds since 1970, UTC."""

    def now(self) -> int:
        """Microseconds since 1970."""
        return time.time_ns() // 1000


def steady() -> int:
    """Microseconds of a clock that nobody sets, and that goes on while the host sleeps where the system has one."""
    which = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime_ns(which) // 1000


class DatabaseClock:
    """Follows a database server's clock, so that hosts whose clocks differ give the same stamps.

    The server is asked now and then (`ports.clock.Follower`); in between a clock counts on that setting the host's time
    does not move. Until the server has answered once, and for a database that is a file of this host, it is the host's
    time.
    """

    def __init__(self, host: Clock | None = None, steady: Callable[[], int] = steady) -> None:
        self._host, self._steady = host or SystemClock(), steady
        self._ahead: int | None = None
        """Of the steady clock."""
        self._asked_at = 0

    def now(self) -> int:
        """Microseconds since 1970, UTC."""
        return self._host.now() if self._ahead is None else self._steady() + self._ahead

    def begin(self) -> int | None:
        """Asked before a transaction: a mark to give to `follow` where the server is to be asked, else None."""
        at = self._steady()
        return at if self._ahead is None or at - self._asked_at >= FRESH else None

    def follow(self, reported: int, started: int) -> None:
        """Take over the server's time, read between `started` and now. A difference that the round trip may explain is
        ignored."""
        at = self._steady()
        ahead, unsure = reported - (started + at) // 2, (at - started) // 2
        if self._ahead is None or abs(ahead - self._ahead) > unsure:
            self._ahead = ahead
        self._asked_at = at
