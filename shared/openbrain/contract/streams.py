"""Answers about streams, their groups and their dead letters."""

from datetime import datetime

from pydantic import Field

from openbrain.contract.base import Answer
from openbrain.contract.operations import OperationAnswer
from openbrain.ports.streams import Readers


class ParkedEntry(Answer):
    """An entry that waits for its next attempt."""

    entry: str
    due_in_s: float


class ConsumerAnswer(Answer):
    """One process of a group."""

    name: str
    pending: int
    idle_s: float = Field(description="Since it last asked for anything.")


class GroupAnswer(Answer):
    """One group of a stream. Ages are seconds by the stream server's clock."""

    name: str
    readers: Readers = Field(description="Whose it is: a service's, a registered reader's, or nobody's that we know.")
    exists: bool = Field(description="Whether the server knows it; a service makes its group when it starts.")
    paused: bool
    lag: int = Field(description="Entries that it was not given yet: exact, counted where the server can't tell.")
    pending: int = Field(description="In hand or parked.")
    parked: int
    due: tuple[ParkedEntry, ...] = Field(description="Of those that are parked the ones due first.")
    oldest_undelivered_s: float | None
    oldest_pending_s: float | None
    consumers: tuple[ConsumerAnswer, ...]
    dead_letters: int
    replaying: int = Field(description="Entries of a replay that it has not settled yet.")


class StreamAnswer(Answer):
    """One stream."""

    name: str
    length: int
    begins_at: datetime | None = Field(description="When its first entry came: what came before was trimmed.")
    first_id: str | None
    last_id: str | None
    groups: tuple[GroupAnswer, ...]


class StreamList(Answer):
    """Every stream."""

    streams: tuple[StreamAnswer, ...]
    count: int


class GroupPaused(Answer):
    """Whether a group rests, and who said so first."""

    group: str
    paused: bool
    actor: str | None = None
    reason: str | None = None
    since: datetime | None = None


class GroupRegistered(Answer):
    """A reader from outside."""

    stream: str
    group: str
    registered: bool
    made: bool = Field(default=False, description="Whether the group is new on the server.")
    destroyed: bool = Field(default=False, description="Whether it was taken off the server.")
    lost: int = Field(default=0, description="Entries that it had in hand when it was taken off.")


class Replayed(Answer):
    """What is given again, and the operation that does it; none for a dry run, and where there is nothing."""

    stream: str
    groups: tuple[str, ...]
    dry_run: bool
    begins_id: str | None = Field(description="Of the first entry that the stream keeps.")
    begins_at: datetime | None = Field(description="When that came: what came before can't be given again.")
    from_id: str
    to_id: str
    count: int = Field(description="Entries between the two, for each group.")
    operation: OperationAnswer | None


class DeadLetterAnswer(Answer):
    """An entry that a group could not take."""

    id: str
    stream: str
    group: str
    entry: str = Field(description="Its id in the stream that it died in.")
    error: str
    message: str
    attempts: int
    abandonments: int = Field(description="How often a process ended while it held the entry.")
    first_at: datetime | None = Field(description="Of its first failure.")
    died_at: datetime
    bytes: int
    fields: dict[str, str] | None = Field(
        default=None, description="The entry itself, where it was asked for: it may hold what somebody remembered."
    )


class DeadLetterList(Answer):
    """By stream and group, the oldest first."""

    dead_letters: tuple[DeadLetterAnswer, ...]
    count: int
    next_cursor: str | None = Field(default=None, description="Where to go on; null at the end.")


class DeadLettersChanged(Answer):
    """Which dead letters are meant, and the operation that works on them; none for a dry run, and where there are
    none."""

    dry_run: bool
    count: int
    sample: tuple[str, ...] = Field(description="Ids of the first of them.")
    operation: OperationAnswer | None


class Buried(Answer):
    """The operation that takes an entry out of a group's hands."""

    stream: str
    group: str
    entry: str
    operation: OperationAnswer
