"""The circuit breaker of an index: where it hangs, not every recall waits for it."""

import time
from collections.abc import Callable

import structlog

from openbrain.domain.tasks import Backoff

HUNG = 3
"""Times in a row after which it is left alone: one slow answer says little."""
FIRST_S, LONGEST_S = 1.0, 10.0
"""Pauses between two tries; each is one recall that waits."""
_log = structlog.get_logger(__name__)


class Breaker:
    """Closed; open after HUNG recalls in a row that had no answer in time; after each pause one recall tries."""

    def __init__(self, index: str, backoff: Backoff | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._index, self._clock = index, clock
        self._backoff = backoff or Backoff(FIRST_S, LONGEST_S)
        self._hung = 0
        self._until: float | None = None
        """While it is open: when one may try."""
        self._trying = False

    def lets(self) -> bool:
        """Whether this recall may ask."""
        if self._until is None:
            return True
        if self._clock() < self._until:
            return False
        # Who tries is alone; a recall that is broken off says nothing, so that the next one follows all the same.
        self._trying, self._until = True, self._clock() + LONGEST_S
        return True

    def hung(self) -> None:
        """No answer in time."""
        self._hung += 1
        if self._until is None:
            if self._hung < HUNG:
                return
            _log.warning("api.index_left_alone", index=self._index)
        elif not self._trying:
            return  # asked before it was open
        self._trying, self._until = False, self._clock() + self._backoff.next()

    def answered(self) -> None:
        """In time, be it with a refusal."""
        if self._until is not None:
            _log.info("api.index_asked_again", index=self._index)
            self._trying, self._until = False, None
            self._backoff.reset()
        self._hung = 0
