"""Time, injected."""

from typing import Protocol


class Clock(Protocol):
    """The one source of time of a process."""

    def now(self) -> int:
        """Microseconds since 1970, UTC."""


class Follower(Protocol):
    """A clock that follows the database server's clock."""

    def begin(self) -> int | None:
        """Called before a transaction: return a mark for `follow` if the server should be asked for its time, else
        None."""

    def follow(self, reported: int, started: int) -> None:
        """Adopt the server's time (microseconds since 1970), which was read after `started`."""
