"""Circuit breaker: after repeated failures no requests are sent to the server for a while."""

import time
from collections.abc import Callable

from openbrain.domain.errors import TryLater


class Breaker:
    """Opens after `failures` in a row. After `pause_s` one request is let through and decides. 0 failures: never
    opens."""

    def __init__(self, failures: int, pause_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = failures
        self._pause_s = pause_s
        self._clock = clock
        self._failures = 0
        self._closed_at = 0.0
        self._probing = False

    def enter(self, url: str) -> None:
        """Call before each request. Raises `TryLater` while the breaker is open."""
        if not self._most or self._failures < self._most:
            return
        left = self._closed_at - self._clock()
        if left > 0 or self._probing:
            raise TryLater(
                f"{url} failed {self._failures} times in a row; no request is sent for {max(left, 1):.0f} s: "
                "look at its /v1/health"
            )
        self._probing = True

    def failed(self) -> None:
        """Note a failure: no response, or a server error."""
        self._probing = False
        self._failures += 1
        self._closed_at = self._clock() + self._pause_s

    def answered(self) -> None:
        """Note a response, even if it was a refusal."""
        self._probing = False
        self._failures = 0

    def left(self) -> None:
        """Note that a request was abandoned: its outcome is unknown."""
        self._probing = False
