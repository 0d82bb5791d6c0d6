"""Streams and their groups."""

import re
from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from openbrain.contract.admin.operations import OperationAnswer
from openbrain.contract.base import Answer, Body, QueryString
from openbrain.domain.events.submission import Note
from openbrain.ports.streams import Readers

_ID = re.compile(r"[0-9]{1,15}(-[0-9]{1,20})?")


def numbered(text: str) -> str:
    """An id whose sequence number a stream can hold."""
    if int(text.rpartition("-")[2]) >= 2**64:
        raise ValueError("must be an entry's id: its last number is at most 18446744073709551615")
    return text


def _place(text: str) -> str:
    """An entry's id, or a time as the first id of its millisecond."""
    if _ID.fullmatch(text):
        return numbered(text)
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise ValueError("must be an entry's id (1700000000000-0) or a time with its zone (2026-11-22T07:00:00Z)")
    return str(max(0, round(at.timestamp() * 1000)))


StreamName = Annotated[str, StringConstraints(pattern=r"^[a-z_]+\.[a-z_]+(\.[A-Za-z0-9_-]+)?$", max_length=200)]
GroupName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:-]*$", max_length=100)]
EntryId = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,15}-[0-9]{1,20}$"), AfterValidator(numbered)]
Place = Annotated[str, StringConstraints(max_length=40), AfterValidator(_place)]
Rate = Annotated[int, Field(strict=True, ge=1, le=1_000_000, description="Entries a second; null: as many as can be.")]


class StreamsQuery(QueryString):
    """One stream, or all."""

    stream: StreamName | None = None


class ReplayBody(Body, extra="forbid"):
    """The entries to replay, and the groups that receive them."""

    stream: StreamName
    group: Annotated[GroupName | None, Field(description="One of the stream's services; null: each of them.")] = None
    begin: Annotated[
        Place | None, Field(alias="from", description="An entry's id or a time; null: where the stream begins.")
    ] = None
    end: Annotated[Place | None, Field(alias="to", description="The same, included; null: what is last now.")] = None
    rate: Rate | None = None
    dry_run: Annotated[bool, Field(strict=True, description="Only tell how many that would be.")] = False


class BuryBody(Body):
    """The entry to dead-letter, and the reason."""

    stream: StreamName
    group: GroupName
    entry: EntryId
    reason: Note


class PauseBody(Body):
    """The group to pause, and the reason."""

    group: GroupName
    reason: Note | None = None


class ResumeBody(Body):
    """The group to resume."""

    group: GroupName


class OutsideBody(Body):
    """A reader from outside."""

    stream: StreamName
    group: GroupName
    reason: Note | None = None
    at_end: Annotated[
        bool, Field(strict=True, description="A new group begins behind what the stream holds now, not before it.")
    ] = False


class OutsideQuery(QueryString):
    """The external reader, and what to do with its group."""

    stream: StreamName
    group: GroupName
    destroy: Annotated[bool, Field(description="Take the group off the server too, with what it has in hand.")] = False


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
    """The entries to replay, and the operation that replays them; none for a dry run, and where there is nothing."""

    stream: str
    groups: tuple[str, ...]
    dry_run: bool
    begins_id: str | None = Field(description="Of the first entry that the stream keeps.")
    begins_at: datetime | None = Field(description="When that came: what came before can't be given again.")
    from_id: str
    to_id: str
    count: int = Field(description="Entries between the two, for each group.")
    operation: OperationAnswer | None


class Buried(Answer):
    """The operation that takes an entry out of a group's hands."""

    stream: str
    group: str
    entry: str
    operation: OperationAnswer
