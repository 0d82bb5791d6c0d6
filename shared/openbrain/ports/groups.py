"""What operators said of consumer groups: which rest, and which readers from outside are waited for.

It stands in the truth, so that neither a restart nor a stream server that lost its data forgets it. Streams are named
without the settings' prefix; times are microseconds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """A group that rests."""

    name: str
    actor: str
    reason: str
    paused_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OutsideGroup:
    """A reader that is none of our services: a stream keeps what it has not read."""

    stream: str
    name: str
    actor: str
    reason: str
    created_at: int


class Groups(Protocol):
    """Doing it again changes nothing."""

    async def pause_group(self, name: str, actor: str, reason: str) -> Pause:
        """Let every replica of a service rest, on all its streams; again: the pause that stands."""

    async def resume_group(self, name: str) -> bool:
        """Let it work; whether it rested."""

    async def pauses(self) -> Sequence[Pause]:
        """Those that rest, by name."""

    async def register_group(self, stream: str, name: str, actor: str, reason: str) -> OutsideGroup:
        """Wait for this reader; again: the registration that stands."""

    async def unregister_group(self, stream: str, name: str) -> bool:
        """Wait for it no more; whether it was registered."""

    async def outside_groups(self) -> Sequence[OutsideGroup]:
        """By stream and name."""
