"""The circuit breaker of a service: while a dependency is down, only an occasional batch is tried."""

import time
from collections.abc import Callable

import structlog

from openbrain.domain.errors import SetupError, TryLater
from openbrain.domain.tasks import Backoff

UNAVAILABLE = (TryLater, SetupError)
"""Errors that no entry causes: a dependency is down, or only a person can mend it (a refused password, a database that
is not migrated yet). The entries wait."""
_log = structlog.get_logger(__name__)


class Breaker:
    """Closed; open for a pause after each of these errors; then half open: the next attempt decides."""

    def __init__(self, name: str, backoff: Backoff, clock: Callable[[], float] = time.monotonic) -> None:
        self.is_open = False
        """True from the first of these errors until an attempt succeeds."""
        self._name, self._backoff, self._clock = name, backoff, clock
        self._until = 0.0

    def wait_s(self) -> float:
        """Seconds until the next attempt is allowed; 0 if it is allowed now."""
        return max(0.0, self._until - self._clock()) if self.is_open else 0.0

    def failed(self, error: Exception) -> None:
        """Note that a dependency is down: pause, longer each time."""
        pause = self._backoff.next()
        if not self.is_open:
            _log.warning(
                "streams.breaker_opened", group=self._name, error=type(error).__name__, message=str(error)[:200]
            )
        self.is_open = True
        self._until = self._clock() + pause

    def succeeded(self) -> None:
        """Note that the dependencies answer: close."""
        if self.is_open:
            _log.info("streams.breaker_closed", group=self._name)
            self.is_open = False
            self._backoff.reset()
