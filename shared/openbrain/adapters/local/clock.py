"""The clock for timestamps and time comparisons on all hosts: the database server's, or the host's with SQLite."""

import time
from collections.abc import Callable

from openbrain.domain.memory import MICROSECONDS
from openbrain.ports.clock import Clock

FRESH = 30 * MICROSECONDS
"""Interval after which the server is asked again, in the next transaction."""


class SystemClock:
    """Wall clock of this host in whole microseconds since 1970, UTC."""

    def now(self) -> int:
        """Microseconds since 1970."""
        return time.time_ns() // 1000


def steady() -> int:
    """Return microseconds of a monotonic clock. It counts the time the host is suspended where the system supports
    that."""
    which = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime_ns(which) // 1000


class DatabaseClock:
    """Follow a database server's clock, so that hosts whose clocks differ produce consistent timestamps.

    The server is asked now and then (`ports.clock.Follower`). In between a monotonic clock counts on, which does not
    change when the host's time is set. Until the server has answered once, and for a database that is a file on this
    host, the host's time is used.
    """

    def __init__(self, host: Clock | None = None, steady: Callable[[], int] = steady) -> None:
        self._host, self._steady = host or SystemClock(), steady
        self._ahead: int | None = None
        """The server's time minus the monotonic clock."""
        self._asked_at = 0

    def now(self) -> int:
        """Microseconds since 1970, UTC."""
        return self._host.now() if self._ahead is None else self._steady() + self._ahead

    def begin(self) -> int | None:
        """Call before a transaction. Return the start mark to pass to `follow` if the server should be asked, else
        None."""
        at = self._steady()
        return at if self._ahead is None or at - self._asked_at >= FRESH else None

    def follow(self, reported: int, started: int) -> None:
        """Adopt the server's time, read between `started` and now. Ignore a difference that the round trip may
        explain."""
        at = self._steady()
        ahead, unsure = reported - (started + at) // 2, (at - started) // 2
        if self._ahead is None or abs(ahead - self._ahead) > unsure:
            self._ahead = ahead
        self._asked_at = at
