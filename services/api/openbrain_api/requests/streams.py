"""What the routes of streams and dead letters take."""

import re
from datetime import datetime
from typing import Annotated, Self

from pydantic import AfterValidator, ConfigDict, Field, StringConstraints, model_validator

from openbrain.domain import limits
from openbrain.domain.submission import Moment, Note
from openbrain_api.requests.memories import Body, QueryString

LETTERS = 500
_ID = re.compile(r"[0-9]{1,15}(-[0-9]{1,20})?")


def _numbered(text: str) -> str:
    """An id whose sequence number a stream can hold."""
    if int(text.rpartition("-")[2]) >= 2**64:
        raise ValueError("must be an entry's id: its last number is at most 18446744073709551615")
    return text


def _place(text: str) -> str:
    """An entry's id, or a time as the first id of its millisecond."""
    if _ID.fullmatch(text):
        return _numbered(text)
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise ValueError("must be an entry's id (1700000000000-0) or a time with its zone (2026-11-22T07:00:00Z)")
    return str(max(0, round(at.timestamp() * 1000)))


StreamName = Annotated[str, StringConstraints(pattern=r"^[a-z_]+\.[a-z_]+(\.[A-Za-z0-9_-]+)?$", max_length=200)]
GroupName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:-]*$", max_length=100)]
EntryId = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,15}-[0-9]{1,20}$"), AfterValidator(_numbered)]
LetterId = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9_.-]+\.[0-9]{1,20}-[0-9]{1,20}$", max_length=400),
    AfterValidator(_numbered),
]
ErrorName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=100)]
Place = Annotated[str, StringConstraints(max_length=40), AfterValidator(_place)]
Rate = Annotated[int, Field(strict=True, ge=1, le=1_000_000, description="Entries a second; null: as many as can be.")]


class StreamsQuery(QueryString):
    """One stream, or all."""

    stream: StreamName | None = None


class ReplayBody(Body):
    """Which entries come again, and to whom."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    stream: StreamName
    group: Annotated[GroupName | None, Field(description="One of the stream's services; null: each of them.")] = None
    begin: Annotated[
        Place | None, Field(alias="from", description="An entry's id or a time; null: where the stream begins.")
    ] = None
    end: Annotated[Place | None, Field(alias="to", description="The same, included; null: what is last now.")] = None
    rate: Rate | None = None
    dry_run: Annotated[bool, Field(strict=True, description="Only tell how many that would be.")] = False


class BuryBody(Body):
    """Which entry, and why."""

    stream: StreamName
    group: GroupName
    entry: EntryId
    reason: Note


class PauseBody(Body):
    """Which group rests, and why."""

    group: GroupName
    reason: Note | None = None


class ResumeBody(Body):
    """Which group works again."""

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
    """Which reader, and what becomes of its group."""

    stream: StreamName
    group: GroupName
    destroy: Annotated[bool, Field(description="Take the group off the server too, with what it has in hand.")] = False


class _Filtered(Body):
    stream: StreamName | None = None
    group: GroupName | None = None
    error: Annotated[ErrorName | None, Field(description="The error's class.")] = None
    since: Annotated[Moment | None, Field(description="Died then or later.")] = None
    until: Annotated[Moment | None, Field(description="Died before.")] = None


class DeadQuery(QueryString):
    """Which dead letters."""

    stream: StreamName | None = None
    group: GroupName | None = None
    error: Annotated[ErrorName | None, Field(description="The error's class.")] = None
    since: Annotated[Moment | None, Field(description="Died then or later.")] = None
    until: Annotated[Moment | None, Field(description="Died before.")] = None
    limit: Annotated[int, Field(ge=1, le=limits.LIST_LIMIT)] = limits.LIST_LIMIT_DEFAULT
    cursor: Annotated[LetterId | None, Field(description="The next_cursor of an answer: list what follows it.")] = None


class LetterQuery(QueryString):
    """How much of it."""

    body: Annotated[bool, Field(description="Also the entry itself, which may hold what somebody remembered.")] = False


class DeadReplayBody(_Filtered):
    """Which dead letters: those named, those that a filter matches, or all."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    letters: Annotated[tuple[LetterId, ...], Field(max_length=LETTERS, description="Their ids.")] = ()
    all: Annotated[bool, Field(strict=True, description="Every one there is.")] = False
    rate: Rate | None = None
    dry_run: Annotated[bool, Field(strict=True, description="Only tell which.")] = True

    @model_validator(mode="after")
    def _chosen(self) -> Self:
        filtered = any(getattr(self, name) is not None for name in _Filtered.model_fields)
        if sum((bool(self.letters), filtered, self.all)) != 1:
            raise ValueError("give letters, or a filter (stream, group, error, since, until), or all: one of the three")
        return self


class DeadDiscardBody(DeadReplayBody):
    """The same, and why they are thrown away."""

    reason: Note | None = None
