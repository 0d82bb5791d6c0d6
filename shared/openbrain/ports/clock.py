"""Time, injected."""

from typing import Protocol


class Clock(Protocol):
    """The one source of time of a process."""

    def now(self) -> int:
        """Microseconds since 1970, UTC."""


class Follower(Protocol):
    """A clock that follows the database server's."""

    def begin(self) -> int | None:
        """Asked before a transaction: a mark to give to `follow` where the server is to be asked, else None."""

    def follow(self, reported: int, started: int) -> None:
        """Take over the server's time (microseconds since 1970), read after `started`."""
