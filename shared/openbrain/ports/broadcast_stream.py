"""A workspace's broadcasts as they come, for who hears them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Spoken:
    """One entry of a workspace's stream."""

    seq: int
    event: bytes
    """As it was published."""


class Hearing(Protocol):
    """The stream of broadcasts. Everybody has a place of his own in it; reading takes nothing away."""

    async def hear(self, workspace_id: str, after: int, wait_s: float) -> Sequence[Spoken]:
        """What stands behind the number `after`, in order; none when nothing came within `wait_s` seconds.

        `TryLater` while the stream server does not answer.
        """
