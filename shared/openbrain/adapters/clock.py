"""The system's time."""

import time


class SystemClock:
    """Wall clock in whole microseconds since 1970, UTC."""

    def now(self) -> int:
        """Microseconds since 1970."""
        return time.time_ns() // 1000
