"""Logs one outage of the stream server once per process, however many loops and clients notice it."""

import time
import weakref
from collections.abc import Callable

import structlog
from redis.exceptions import ConnectionError as NoConnection
from redis.exceptions import TimeoutError as NoAnswer

from openbrain.streams.redis.connection import words

FORGOTTEN_S = 60.0
"""A link without a failure for this long is no longer in use: it must not keep an outage open that is over."""
_GONE = (OSError, NoConnection, NoAnswer)
"""All these errors count as the same outage."""
_log = structlog.get_logger(__name__)


class Outage:
    """The first link that meets an outage logs it; the last one that recovers logs its end."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failing: weakref.WeakKeyDictionary[Link, float] = weakref.WeakKeyDictionary()
        """The time of each link's last failure. Weak: a link whose loop ended while failing disappears."""
        self._reported: set[str] = set()

    def failed(self, link: "Link", error: Exception) -> None:
        """Note a failure; log it unless this kind was already logged."""
        if link in self._failing:
            self._failing[link] = self._clock()
        self._forget()
        if not self._failing:
            self._reported.clear()
        self._failing[link] = self._clock()
        name = "away" if isinstance(error, _GONE) else type(error).__name__
        if name not in self._reported:
            self._reported.add(name)
            _log.warning("streams.redis_trouble", loop=link.loop, error=type(error).__name__, message=words(error))

    def answered(self, link: "Link") -> None:
        """Note a recovery; log it if this was the last failing link."""
        if self._failing.pop(link, None) is None:
            return
        self._forget()
        if not self._failing:
            _log.info("streams.redis_answers", loop=link.loop)

    def left(self, link: "Link") -> None:
        """Remove a link that is no longer used: it neither keeps the outage open nor reports its end."""
        self._failing.pop(link, None)

    def _forget(self) -> None:
        oldest = self._clock() - FORGOTTEN_S
        for link in [link for link, at in self._failing.items() if at < oldest]:
            del self._failing[link]


PROCESS = Outage()
"""The outage of this process, which has one stream server for all its services."""


class Link:
    """The state of the stream server as one loop or client knows it."""

    def __init__(self, loop: str, outage: Outage = PROCESS) -> None:
        self.loop = loop
        self._outage = outage

    def failed(self, error: Exception) -> None:
        """Note that the server is unavailable or refuses."""
        self._outage.failed(self, error)

    def answered(self) -> None:
        """Note that the server answered this link."""
        self._outage.answered(self)

    def leave(self) -> None:
        """Note that this link is no longer used."""
        self._outage.left(self)


def absence(error: Exception) -> Exception | None:
    """Return the connection error or timeout that this error is or was raised from; None if there is none."""
    return next((item for item in (error, error.__cause__) if isinstance(item, NoConnection | NoAnswer)), None)
