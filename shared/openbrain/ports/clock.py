"""Time, injected."""

from typing import Protocol


class Clock(Protocol):
    """The one source of time of a process."""

    def now(self) -> int:
        """Microseconds since 1970, UTC."""
