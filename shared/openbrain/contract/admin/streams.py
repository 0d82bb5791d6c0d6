"""Streams and their groups."""

import re
from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from openbrain.contract.admin.operations import OperationAnswer
from openbrain.contract.base import Answer, Body, QueryString
from openbrain.domain.events.data import STREAM_PATTERN
from openbrain.domain.events.submission import Note
from openbrain.ports.streams import Readers

_ID = re.compile(r"[0-9]{1,15}(-[0-9]{1,20})?")


def numbered(text: str) -> str:
    """Return an entry id unchanged. `ValueError` if its sequence number does not fit into 64 bits."""
    if int(text.rpartition("-")[2]) >= 2**64:
        raise ValueError("must be an entry's id: its last number is at most 18446744073709551615")
    return text


def _place(text: str) -> str:
    """Return an entry id unchanged, or for a time the first id of its millisecond."""
    if _ID.fullmatch(text):
        return numbered(text)
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise ValueError("must be an entry's id (1700000000000-0) or a time with its zone (2026-11-22T07:00:00Z)")
    return str(max(0, round(at.timestamp() * 1000)))


StreamName = Annotated[str, StringConstraints(pattern=STREAM_PATTERN, max_length=200)]
GroupName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:-]*$", max_length=100)]
EntryId = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,15}-[0-9]{1,20}$"), AfterValidator(numbered)]
Place = Annotated[str, StringConstraints(max_length=40), AfterValidator(_place)]
Rate = Annotated[int, Field(strict=True, ge=1, le=1_000_000, description="Entries per second at most; null: no limit.")]


class StreamsQuery(QueryString):
    """Selects one stream, or all."""

    stream: StreamName | None = None


class ReplayBody(Body, extra="forbid"):
    """The entries to replay, and the groups that receive them."""

    stream: StreamName
    group: Annotated[
        GroupName | None, Field(description="The group of one of the stream's services; null: all of them.")
    ] = None
    begin: Annotated[
        Place | None,
        Field(alias="from", description="First entry: an entry's id or a time; null: the first entry of the stream."),
    ] = None
    end: Annotated[
        Place | None,
        Field(
            alias="to",
            description="Last entry (inclusive): an entry's id or a time; null: the entry that is now the last.",
        ),
    ] = None
    rate: Rate | None = None
    dry_run: Annotated[bool, Field(strict=True, description="Only report how many entries.")] = False


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
    """The external reader to register."""

    stream: StreamName
    group: GroupName
    reason: Note | None = None
    at_end: Annotated[
        bool,
        Field(strict=True, description="A new group begins after the present entries of the stream, not before them."),
    ] = False


class OutsideQuery(QueryString, extra="forbid"):
    """The external reader, and what to do with its group."""

    stream: StreamName
    group: GroupName
    destroy: Annotated[bool, Field(description="Also remove the group from the server, with its pending entries.")] = (
        False
    )


class ParkedEntry(Answer):
    """An entry that waits for its next attempt."""

    entry: str
    due_in_s: float


class ConsumerAnswer(Answer):
    """One process of a group."""

    name: str
    pending: int
    idle_s: float = Field(description="Seconds since it last read.")


class GroupAnswer(Answer):
    """One group of a stream. Ages are seconds by the stream server's clock."""

    name: str
    readers: Readers = Field(description="The owner: a service, a registered external reader, or unknown.")
    exists: bool = Field(
        description="Whether the group exists on the server; a service creates its group when it starts."
    )
    paused: bool
    lag: int = Field(description="Entries not yet delivered to it. Exact: counted if the server does not know.")
    pending: int = Field(description="Delivered and not acknowledged, including parked entries.")
    parked: int
    due: tuple[ParkedEntry, ...] = Field(description="The parked entries that are due first.")
    oldest_undelivered_s: float | None
    oldest_pending_s: float | None
    consumers: tuple[ConsumerAnswer, ...]
    dead_letters: int
    replaying: int = Field(description="Entries of a replay that it has not processed yet.")


class StreamAnswer(Answer):
    """One stream."""

    name: str
    length: int
    begins_at: datetime | None = Field(description="When its first entry was added: older ones were trimmed.")
    first_id: str | None
    last_id: str | None
    groups: tuple[GroupAnswer, ...]


class StreamList(Answer):
    """Every stream."""

    streams: tuple[StreamAnswer, ...]
    count: int


class GroupPaused(Answer):
    """Whether a group is paused, and who paused it first."""

    group: str
    paused: bool
    actor: str | None = None
    reason: str | None = None
    since: datetime | None = None


class GroupRegistered(Answer):
    """The result of registering or removing an external reader."""

    stream: str
    group: str
    registered: bool
    made: bool = Field(default=False, description="Whether the group was created on the server.")
    destroyed: bool = Field(default=False, description="Whether the group was removed from the server.")
    lost: int = Field(default=0, description="Entries that were pending when the group was removed.")


class Replayed(Answer):
    """The entries to replay, and the operation that replays them; null for a dry run, or if there are none."""

    stream: str
    groups: tuple[str, ...]
    dry_run: bool
    begins_id: str | None = Field(description="Id of the first entry in the stream.")
    begins_at: datetime | None = Field(description="When that entry was added: older ones can't be replayed.")
    from_id: str
    to_id: str
    count: int = Field(description="Entries between the two, for each group.")
    operation: OperationAnswer | None


class Buried(Answer):
    """The operation that moves an entry from a group to its dead letters."""

    stream: str
    group: str
    entry: str
    operation: OperationAnswer
