"""Dead letters."""

from datetime import datetime
from typing import Annotated, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from openbrain.contract.admin.operations import OperationAnswer
from openbrain.contract.admin.streams import GroupName, Rate, StreamName, numbered
from openbrain.contract.base import Answer, Body, QueryString
from openbrain.domain import limits
from openbrain.domain.events.submission import Moment, Note

LETTERS = 500
LetterId = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9_.-]+\.[0-9]{1,20}-[0-9]{1,20}$", max_length=400),
    AfterValidator(numbered),
]
ErrorName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=100)]


class _Filtered(Body):
    stream: StreamName | None = None
    group: GroupName | None = None
    error: Annotated[ErrorName | None, Field(description="The error's class.")] = None
    since: Annotated[Moment | None, Field(description="Became a dead letter at or after this time.")] = None
    until: Annotated[Moment | None, Field(description="Became a dead letter before this time.")] = None


class DeadQuery(_Filtered, QueryString):
    """The filters of a list of dead letters."""

    limit: Annotated[int, Field(ge=1, le=limits.LIST_LIMIT)] = limits.LIST_LIMIT_DEFAULT
    cursor: Annotated[LetterId | None, Field(description="The `next_cursor` of the previous page.")] = None


class LetterQuery(QueryString):
    """How much of a dead letter is returned."""

    body: Annotated[
        bool, Field(description="Also return the entry itself, which may contain the text of a memory.")
    ] = False


class DeadReplayBody(_Filtered, extra="forbid"):
    """The dead letters to replay: those named, those that a filter matches, or all."""

    letters: Annotated[tuple[LetterId, ...], Field(max_length=LETTERS, description="Their ids.")] = ()
    all: Annotated[bool, Field(strict=True, description="All dead letters.")] = False
    rate: Rate | None = None
    dry_run: Annotated[bool, Field(strict=True, description="Only report which ones.")] = True

    @model_validator(mode="after")
    def _chosen(self) -> Self:
        filtered = any(getattr(self, name) is not None for name in _Filtered.model_fields)
        if sum((bool(self.letters), filtered, self.all)) != 1:
            raise ValueError("give letters, or a filter (stream, group, error, since, until), or all: one of the three")
        return self


class DeadDiscardBody(DeadReplayBody):
    """The dead letters to discard, and the reason."""

    reason: Note | None = None


class DeadLetterAnswer(Answer):
    """An entry that a consumer group could not process."""

    id: str
    stream: str
    group: str
    entry: str = Field(description="The entry's id in the stream where it failed.")
    error: str
    message: str
    attempts: int
    abandonments: int = Field(description="How often a consumer ended while the entry was pending for it.")
    first_at: datetime | None = Field(description="Time of its first failure.")
    died_at: datetime
    bytes: int
    fields: dict[str, str] | None = Field(
        default=None, description="The entry itself, which may contain the text of a memory; null unless requested."
    )


class DeadLetterList(Answer):
    """A page of dead letters, by stream and group, oldest first."""

    dead_letters: tuple[DeadLetterAnswer, ...]
    count: int
    next_cursor: str | None = Field(default=None, description="Cursor of the next page; null on the last one.")


class DeadLettersChanged(Answer):
    """The dead letters concerned, and the operation that processes them; null for a dry run, or if there are none."""

    dry_run: bool
    count: int
    sample: tuple[str, ...] = Field(description="Ids of the first ones.")
    operation: OperationAnswer | None
