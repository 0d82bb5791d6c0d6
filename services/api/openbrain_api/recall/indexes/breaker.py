"""The circuit breaker of an index: while the index hangs, not every recall waits for it."""

import time
from collections.abc import Callable

import structlog

from openbrain.domain.tasks import Backoff

TIMEOUTS_TO_OPEN = 3
"""Timeouts in a row after which the breaker opens: one slow answer says little."""
FIRST_S, LONGEST_S = 1.0, 10.0
"""Shortest and longest pause between tries; each try makes one recall wait."""
_log = structlog.get_logger(__name__)


class Breaker:
    """Opens after `TIMEOUTS_TO_OPEN` timeouts in a row. While it is open, one recall tries after each pause."""

    def __init__(self, index: str, backoff: Backoff | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._index, self._clock = index, clock
        self._backoff = backoff or Backoff(FIRST_S, LONGEST_S)
        self._hung = 0
        self._until: float | None = None
        """Time of the next try; None while closed."""
        self._trying = False

    def allows(self) -> bool:
        """True if this recall may ask the index."""
        if self._until is None:
            return True
        if self._clock() < self._until:
            return False
        # Only one recall tries at a time. If it is cancelled it reports nothing, so the next try is allowed by time.
        self._trying, self._until = True, self._clock() + LONGEST_S
        return True

    def hung(self) -> None:
        """Note a timeout."""
        self._hung += 1
        if self._until is None:
            if self._hung < TIMEOUTS_TO_OPEN:
                return
            _log.warning("api.index_left_alone", index=self._index)
        elif not self._trying:
            return  # asked before the breaker opened
        self._trying, self._until = False, self._clock() + self._backoff.next()

    def answered(self) -> None:
        """Note an answer in time, even an error, and close the breaker."""
        if self._until is not None:
            _log.info("api.index_asked_again", index=self._index)
            self._trying, self._until = False, None
            self._backoff.reset()
        self._hung = 0
