"""Time, injected."""

from typing import Protocol


class Clock(Protocol):
    """The one source of time of a process."""

    def now(self) -> int:
        """Microseconds since 1970, UTC."""


class Follower(Protocol):
    """Who is told what a database server's clock says."""

    def begin(self) -> int | None:
        """Asked before a transaction: a mark to give to `follow` where the server is to be asked, else None."""

    def follow(self, reported: int, begun: int) -> None:
        """What the server said (microseconds since 1970) after `begun`."""
