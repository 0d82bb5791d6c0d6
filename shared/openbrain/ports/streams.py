"""The stream server as operators see it: streams, groups, dead letters, and what was said of groups.

Streams are named without the settings' prefix. Ages are seconds by the server's clock, times are milliseconds of it.
Pauses and registrations stand in the database, so that neither a restart nor a stream server that lost its data forgets
them; their times are microseconds.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Protocol


class Readers(StrEnum):
    """The owner of a consumer group."""

    SERVICE = "service"
    OUTSIDE = "outside"
    """Registered by an operator: what it has not read stays."""
    UNREGISTERED = "unregistered"
    """Found on the server, declared by nobody: it holds nothing back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerState:
    """One process of a group."""

    name: str
    pending: int
    idle_s: float
    """Since it last asked for anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parked:
    """An entry that waits for its next attempt."""

    entry: str
    due_in_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupState:
    """One group of a stream."""

    name: str
    readers: Readers
    exists: bool
    """Whether the server knows it; a service makes its group when it starts."""
    lag: int
    """Entries that it was not given yet: exact, also where the server can't tell."""
    pending: int
    parked: int = 0
    due: Sequence[Parked] = ()
    """Of those that are parked, the ones that are due first."""
    oldest_undelivered_s: float | None = None
    oldest_pending_s: float | None = None
    consumers: Sequence[ConsumerState] = ()
    dead_letters: int = 0
    replaying: int = 0
    """Entries of a replay that it has not settled yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamState:
    """One stream."""

    name: str
    length: int
    first_id: str | None
    """The id of the oldest entry: what came before was trimmed. None: the stream is empty."""
    last_id: str | None
    groups: Sequence[GroupState]


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The part of a stream between two ids, as it is kept now."""

    begins_id: str | None
    """Of the stream's first entry; None: it holds nothing."""
    from_id: str
    to_id: str
    entries: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadFilter:
    """Filters of dead letters; one left out narrows nothing. `since` and `until`: milliseconds at which they died."""

    stream: str = ""
    group: str = ""
    error: str = ""
    """The error's class."""
    since: int | None = None
    until: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """An entry that a group could not take."""

    id: str
    """`<stream>.<group>.<id in the dead-letter stream>`."""
    stream: str
    group: str
    entry: str
    """The entry's id in the stream that it died in."""
    error: str
    message: str
    attempts: int
    abandonments: int
    first_at: int
    last_at: int
    """The time of its death, in milliseconds."""
    bytes: int
    """Of its fields."""
    fields: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The entry itself, which may hold what somebody remembered: shown to operators who ask for it, never logged."""


class StreamAdmin(Protocol):
    """Every method raises `TryLater` while the server does not answer."""

    async def look(self, stream: str = "", outside: Sequence[tuple[str, str]] = ()) -> Sequence[StreamState]:
        """Each stream, or one. `outside`: registered (stream, group)."""

    async def span(self, stream: str, from_id: str, to_id: str) -> Span:
        """Count what lies between two ids, both included; `-` and `+` are the ends, of which `+` is settled now."""

    async def dead(self, wanted: DeadFilter, limit: int, after: str = "") -> tuple[Sequence[DeadLetter], str | None]:
        """A page without the entries' fields, oldest first in each stream, and where to go on; None at the end. A page
        may be short, or empty, before the end: a bounded number is looked at."""

    async def dead_letter(self, letter: str) -> DeadLetter | None:
        """One, with its fields."""

    async def count_dead(self, wanted: DeadFilter) -> int:
        """The exact number."""

    async def make_group(self, stream: str, group: str, *, at_end: bool) -> bool:
        """At the stream's beginning, or behind what it holds; False where it stands already."""

    async def drop_group(self, stream: str, group: str) -> int:
        """Take the group off the server; returns how many entries it had in hand, which it will never be given."""


@dataclass(frozen=True, slots=True)
class HandedOver:
    """The result of one step."""

    entries: int
    last_id: str | None
    """The id that the next step goes on behind; None where this one copied nothing."""
    waiting: int
    """Entries that the group has not settled yet."""
    more: bool


class Revival(StrEnum):
    """The outcome of a dead letter's replay."""

    DELIVERED = "delivered"
    GONE = "gone"
    NOT_WHOLE = "not_whole"
    """An entry with so many fields that they were put into one: it can be read, and not delivered."""


class Burial(IntEnum):
    NOT_IN_HAND = 0
    """The group does not hold it: it was not delivered yet, or is done, or never was."""
    BURIED = 1
    GONE = 2
    """The group held it and its stream did not: nothing is left to keep."""


class StreamRedelivery(Protocol):
    """Entries given to groups again. Streams are named without the prefix. Every method may be repeated, and raises
    `TryLater` while the server does not answer."""

    async def now(self) -> int:
        """Milliseconds by the server's clock."""

    async def hand_over(self, stream: str, group: str, from_id: str, to_id: str, most: int) -> HandedOver:
        """Give a group what a stream kept between two ids, by a stream of its own."""

    async def unsettled(self, stream: str, group: str) -> int:
        """The number of a replay's entries that the group has not settled."""

    async def dead(self, wanted: DeadFilter, limit: int, after: str) -> tuple[Sequence[DeadLetter], str | None]:
        """List dead letters like `StreamAdmin.dead`, with the entries' fields."""

    async def letters(self, names: Sequence[str]) -> Sequence[DeadLetter]: ...

    async def revive(self, names: Sequence[str]) -> Sequence[Revival]:
        """Give each again to its group, after which it is a dead letter no more; in any order."""

    async def discard(self, names: Sequence[str]) -> int:
        """Remove these for good; how many there were."""

    async def bury(self, stream: str, group: str, entry: str, why: str) -> Burial:
        """Take an entry out of a group's hands."""

    async def body(self, stream: str, entry: str) -> bytes | None: ...


REPLAY, DEAD_REPLAY, DEAD_DISCARD, BURY = "replay", "dead-replay", "dead-discard", "bury"
"""Kinds of operations that change streams."""
BURIED = "Buried"
"""The error of a dead letter that was buried."""


Doomed = Callable[[bytes, str, int | None], bool]
"""(event's bytes, workspace that the stream is bound to or '', when it was added by our clock or None) -> whether it
must go."""


@dataclass(frozen=True, slots=True)
class Swept:
    """Entries removed from the streams."""

    looked_at: int
    deleted: Mapping[str, int] = field(default_factory=dict)
    """Entries by stream, as the server names it."""
    too_long: tuple[str, ...] = ()
    """Streams that were not written anew: what was deleted leaves their blocks when they are trimmed."""
    unjudged: int = 0
    """Entries that could not be judged, and stay."""


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
        """Paused groups, by name."""

    async def register_group(self, stream: str, name: str, actor: str, reason: str) -> OutsideGroup:
        """Wait for this reader; again: the registration that stands."""

    async def unregister_group(self, stream: str, name: str) -> bool:
        """Wait for it no more; whether it was registered."""

    async def outside_groups(self) -> Sequence[OutsideGroup]:
        """By stream and name."""


class Wake(Protocol):
    """Between the process that commits and the relay that publishes."""

    async def notify(self) -> None:
        """Wake whoever waits. Never raises and never waits long: it is a hint."""

    async def wait(self, timeout: float) -> bool:
        """Return True once notified (at once if notified since the last wait), False after at most `timeout` seconds,
        sooner where a hint may have been lost."""


@dataclass(frozen=True, slots=True)
class StreamedBroadcast:
    """One entry of a workspace's stream."""

    seq: int
    event: bytes
    """The fields as they were published."""


class BroadcastStream(Protocol):
    """The stream of broadcasts. Everybody has a place of his own in it; reading takes nothing away."""

    async def hear(self, workspace_id: str, after: int, wait_s: float) -> Sequence[StreamedBroadcast]:
        """Broadcasts behind the number `after`, in order; none when nothing came within `wait_s` seconds. `TryLater`
        while the stream server does not answer."""
