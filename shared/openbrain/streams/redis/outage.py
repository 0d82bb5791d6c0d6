"""One absence of the stream server is one line of a process's log, however many of its loops and clients meet it."""

import time
import weakref
from collections.abc import Callable

import structlog
from redis.exceptions import ConnectionError as NoConnection
from redis.exceptions import TimeoutError as NoAnswer

from openbrain.streams.redis.connection import words

FORGOTTEN_S = 60.0
"""A link that reported no failure for so long is out of use: it must not keep an absence open that is over."""
_GONE = (OSError, NoConnection, NoAnswer)
"""In however many words: one absence."""
_log = structlog.get_logger(__name__)


class Outage:
    """The first link that meets an outage logs it; the last one that is back logs its end."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failing: weakref.WeakKeyDictionary[Link, float] = weakref.WeakKeyDictionary()
        """The time of each link's last failure. A link whose loop ends in trouble is removed."""
        self._reported: set[str] = set()

    def failed(self, link: "Link", error: Exception) -> None:
        """Tell it, unless it was told."""
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
        """Tell it, where this was the last."""
        if self._failing.pop(link, None) is None:
            return
        self._forget()
        if not self._failing:
            _log.info("streams.redis_answers", loop=link.loop)

    def left(self, link: "Link") -> None:
        """Leave out a link that asks no more: it neither keeps the outage open nor reports its end."""
        self._failing.pop(link, None)

    def _forget(self) -> None:
        oldest = self._clock() - FORGOTTEN_S
        for link in [link for link, at in self._failing.items() if at < oldest]:
            del self._failing[link]


PROCESS = Outage()
"""Of this process, which has one stream server, whatever the number of its services."""


class Link:
    """The state of the stream server as one loop or client knows it."""

    def __init__(self, loop: str, outage: Outage = PROCESS) -> None:
        self.loop = loop
        self._outage = outage

    def failed(self, error: Exception) -> None:
        """Note that the server is away, or refuses."""
        self._outage.failed(self, error)

    def answered(self) -> None:
        """Note that the server answered this link."""
        self._outage.answered(self)

    def leave(self) -> None:
        """This one ends."""
        self._outage.left(self)


def absence(error: Exception) -> Exception | None:
    """The missing connection or answer of the stream server that this error is, or was raised from."""
    return next((item for item in (error, error.__cause__) if isinstance(item, NoConnection | NoAnswer)), None)
