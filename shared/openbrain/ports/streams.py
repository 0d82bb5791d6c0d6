"""The stream server as seen by operators: streams, groups, dead letters, and settings of groups.

Streams are named without the settings' prefix. Ages are in seconds and times in milliseconds, by the server's clock.
Pauses and registrations are stored in the database, so they survive a restart and a stream server that lost its data;
their times are microseconds.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Protocol


class Readers(StrEnum):
    """Who reads with a consumer group."""

    SERVICE = "service"
    OUTSIDE = "outside"
    """Registered by an operator: entries that it has not read are kept."""
    UNREGISTERED = "unregistered"
    """Found on the server but not registered: entries are not kept for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerState:
    """One consumer of a group."""

    name: str
    pending: int
    idle_s: float
    """Time since its last request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parked:
    """An entry waiting for its next attempt."""

    entry: str
    due_in_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupState:
    """One group of a stream."""

    name: str
    readers: Readers
    exists: bool
    """True if the group exists on the server; a service creates its group when it starts."""
    lag: int
    """Entries not yet delivered to it; exact even if the server doesn't know."""
    pending: int
    parked: int = 0
    due: Sequence[Parked] = ()
    """The parked entries that are due first."""
    oldest_undelivered_s: float | None = None
    oldest_pending_s: float | None = None
    consumers: Sequence[ConsumerState] = ()
    dead_letters: int = 0
    replaying: int = 0
    """Entries of a replay that it has not acknowledged yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamState:
    """One stream."""

    name: str
    length: int
    first_id: str | None
    """The id of the oldest entry; older ones were trimmed. None: the stream is empty."""
    last_id: str | None
    groups: Sequence[GroupState]


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The part of a stream between two ids, as stored now."""

    begins_id: str | None
    """The id of the stream's first entry; None if it is empty."""
    from_id: str
    to_id: str
    entries: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadFilter:
    """Filters for dead letters; unset ones match all. `since` and `until`: time of death in milliseconds."""

    stream: str = ""
    group: str = ""
    error: str = ""
    """The error's class."""
    since: int | None = None
    until: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """An entry that a group failed to process."""

    id: str
    """`<stream>.<group>.<id in the dead-letter stream>`."""
    stream: str
    group: str
    entry: str
    """The entry's id in its original stream."""
    error: str
    message: str
    attempts: int
    abandonments: int
    first_at: int
    last_at: int
    """The time of its death, in milliseconds."""
    bytes: int
    """Size of its fields."""
    fields: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The entry itself. It may contain memory contents: shown to operators on request, never logged."""


class StreamAdmin(Protocol):
    """Every method raises `TryLater` if the server does not respond."""

    async def look(self, stream: str = "", outside: Sequence[tuple[str, str]] = ()) -> Sequence[StreamState]:
        """Return the state of all streams, or of one. `outside`: registered (stream, group) pairs."""

    async def span(self, stream: str, from_id: str, to_id: str) -> Span:
        """Count the entries between two ids, both inclusive; `-` and `+` are the ends, `+` being the last entry now."""

    async def dead(self, wanted: DeadFilter, limit: int, after: str = "") -> tuple[Sequence[DeadLetter], str | None]:
        """Return a page of dead letters without their fields, oldest first within each stream, and the cursor of the
        next page; None at the end. Each call scans a bounded number, so a page may be short or empty before the end."""

    async def dead_letter(self, letter: str) -> DeadLetter | None:
        """Return one dead letter with its fields."""

    async def count_dead(self, wanted: DeadFilter) -> int:
        """Return the exact number of matching dead letters."""

    async def make_group(self, stream: str, group: str, *, at_end: bool) -> bool:
        """Create the group at the stream's beginning, or at its end. False if it already exists."""

    async def drop_group(self, stream: str, group: str) -> int:
        """Delete the group from the server. Return the number of its pending entries, which will not be delivered
        again."""


@dataclass(frozen=True, slots=True)
class HandedOver:
    """The result of one step."""

    entries: int
    last_id: str | None
    """Where the next step continues; None if this one copied nothing."""
    waiting: int
    """Entries that the group has not acknowledged yet."""
    more: bool


class Revival(StrEnum):
    """The outcome of a dead letter's replay."""

    DELIVERED = "delivered"
    GONE = "gone"
    NOT_WHOLE = "not_whole"
    """The entry had so many fields that they were packed into one: it can be read but not redelivered."""


class Burial(IntEnum):
    NOT_IN_HAND = 0
    """Not pending in the group: not delivered yet, already done, or unknown."""
    BURIED = 1
    GONE = 2
    """Pending in the group but gone from the stream: there is nothing to keep."""


class StreamRedelivery(Protocol):
    """Redelivery of entries to groups. Streams are named without the prefix. Every method may be repeated, and raises
    `TryLater` if the server does not respond."""

    async def now(self) -> int:
        """Return the server's time in milliseconds."""

    async def hand_over(self, stream: str, group: str, from_id: str, to_id: str, most: int) -> HandedOver:
        """Copy a stream's entries between two ids to the group's replay stream."""

    async def unsettled(self, stream: str, group: str) -> int:
        """Return the number of replayed entries that the group has not acknowledged."""

    async def dead(self, wanted: DeadFilter, limit: int, after: str) -> tuple[Sequence[DeadLetter], str | None]:
        """List dead letters like `StreamAdmin.dead`, with the entries' fields."""

    async def letters(self, names: Sequence[str]) -> Sequence[DeadLetter]: ...

    async def revive(self, names: Sequence[str]) -> Sequence[Revival]:
        """Redeliver each dead letter to its group and remove it from the dead letters. In any order."""

    async def discard(self, names: Sequence[str]) -> int:
        """Delete dead letters. Return how many existed."""

    async def bury(self, stream: str, group: str, entry: str, why: str) -> Burial:
        """Take a pending entry away from a group and make it a dead letter."""

    async def body(self, stream: str, entry: str) -> bytes | None: ...


REPLAY, DEAD_REPLAY, DEAD_DISCARD, BURY = "replay", "dead-replay", "dead-discard", "bury"
"""Kinds of operations that change streams."""
BURIED = "Buried"
"""The error of a dead letter that was buried."""


Doomed = Callable[[bytes, str, int | None], bool]
"""(event's bytes, workspace that the stream belongs to or '', time it was added by our clock or None) -> True if the
entry must be deleted."""


@dataclass(frozen=True, slots=True)
class Swept:
    """Entries removed from the streams."""

    looked_at: int
    deleted: Mapping[str, int] = field(default_factory=dict)
    """Counts by stream; full names as on the server."""
    too_long: tuple[str, ...] = ()
    """Streams too long to rewrite: deleted entries stay in their memory blocks until those are trimmed."""
    unjudged: int = 0
    """Entries that could not be judged; they were kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """A paused group."""

    name: str
    actor: str
    reason: str
    paused_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OutsideGroup:
    """A reader other than our services: a stream keeps the entries it has not read."""

    stream: str
    name: str
    actor: str
    reason: str
    created_at: int


class Groups(Protocol):
    """All methods are idempotent."""

    async def pause_group(self, name: str, actor: str, reason: str) -> Pause:
        """Pause all replicas of a service, on all its streams. If it is paused already, return that pause."""

    async def resume_group(self, name: str) -> bool:
        """End the pause. True if the group was paused."""

    async def pauses(self) -> Sequence[Pause]:
        """List paused groups, by name."""

    async def register_group(self, stream: str, name: str, actor: str, reason: str) -> OutsideGroup:
        """Keep entries until this reader has read them. If it is registered already, return that registration."""

    async def unregister_group(self, stream: str, name: str) -> bool:
        """Stop keeping entries for it. True if it was registered."""

    async def outside_groups(self) -> Sequence[OutsideGroup]:
        """List registered groups, by stream and name."""


class Wake(Protocol):
    """Signal from the process that commits to the relay that publishes."""

    async def notify(self) -> None:
        """Wake the waiting process. Never raises and never blocks long: it is a hint."""

    async def wait(self, timeout: float) -> bool:
        """Return True once notified (immediately if notified since the last wait), False after at most `timeout`
        seconds, or earlier if a hint may have been lost."""


@dataclass(frozen=True, slots=True)
class StreamedBroadcast:
    """One entry of a workspace's stream."""

    seq: int
    event: bytes
    """The fields as they were published."""


class BroadcastStream(Protocol):
    """The stream of broadcasts. Every reader has its own position; reading consumes nothing."""

    async def read(self, workspace_id: str, after: int, wait_s: float) -> Sequence[StreamedBroadcast]:
        """Return broadcasts behind number `after`, in order; empty if none arrived within `wait_s` seconds. Raise
        `TryLater` if the stream server does not respond."""
