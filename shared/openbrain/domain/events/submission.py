"""A submission: validated and normalised once, at the boundary."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator
from pydantic_core import to_json

from openbrain.domain import limits
from openbrain.domain.events.data import EventData, MemoryId
from openbrain.domain.memory import MemoryType, Scope
from openbrain.domain.text.control_characters import plain_json, plain_line, plain_text
from openbrain.domain.text.spelling import composed

DEPTH = 250
"""Nesting of JSON within JSON: readers of events stop at 254."""
INT64 = 2**63


def _zoned(value: datetime) -> datetime:
    if value.tzinfo is None:
        raise ValueError("must carry a time zone, as in 2026-01-31T12:00:00Z")
    try:
        moment = value.astimezone(UTC)
    except OverflowError:
        moment = None
    if moment is None or moment.year > 9998:
        raise ValueError("must be a year from 1 to 9998 in UTC")
    return moment


def _written_time(value: object) -> object:
    if isinstance(value, bool | int | float):
        raise ValueError("must be an ISO-8601 string with a time zone")  # noqa: TRY004 - pydantic wants ValueError
    return value


def _real(value: object) -> object:
    if isinstance(value, bool | str):
        raise ValueError("must be a number")  # noqa: TRY004 - pydantic wants ValueError
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("must be a finite number")
    return value


def _composed(most: int) -> AfterValidator:
    """Unicode NFC, whose length is limited too: a few characters become two or three."""

    def compose(value: str) -> str:
        text = composed(value)
        if len(text) > most:
            raise ValueError(f"must be at most {most} characters in Unicode NFC")
        return text

    return AfterValidator(compose)


def not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be blank")
    return value


def _small_json(value: dict[str, Any]) -> dict[str, Any]:
    words = all(_is_word(name) and _is_word(part) for name, part in value.items())
    try:
        size = len(to_json(value if words else _plain(value, DEPTH)))
    except ValueError:  # also half of a surrogate pair
        raise ValueError("must be plain JSON with finite numbers and valid text") from None
    if size > limits.METADATA_BYTES:
        raise ValueError(f"must be at most {limits.METADATA_BYTES} bytes of JSON, is {size}")
    return value if words else plain_json(value)


def _is_word(value: object) -> bool:
    """Text that is certainly valid, as in most metadata."""
    return type(value) is str and value.isprintable()


def _plain(value: Any, depth: int) -> Any:
    """Return the value if every JSON reader can represent it; else raise `ValueError`."""
    match value:
        case None | bool() | str():
            return value
        case int() if -INT64 <= value < 2 * INT64:
            return value
        case float() if math.isfinite(value):
            return value
        case dict() if depth and all(isinstance(key, str) for key in value):
            for part in value.values():
                _plain(part, depth - 1)
            return value
        case list() | tuple() if depth:
            for part in value:
                _plain(part, depth - 1)
            return value
    raise ValueError


def _unique(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


@dataclass(frozen=True)
class Line(StringConstraints):
    """Text on one line, stripped and not empty."""

    strip_whitespace: bool | None = True
    min_length: int | None = 1

    def __iter__(self) -> Iterator[Any]:
        yield from super().__iter__()
        yield AfterValidator(plain_line)


Content = Annotated[
    str,
    StringConstraints(min_length=1, max_length=limits.CONTENT_CHARS),
    AfterValidator(not_blank),
    AfterValidator(plain_text),
]
Org = Annotated[str, Line(max_length=limits.ORG_CHARS)]
Project = Annotated[str, Line(max_length=limits.PROJECT_CHARS)]
NewOrg = Annotated[str, Line(min_length=None, max_length=limits.ORG_CHARS)]
NewProject = Annotated[str, Line(min_length=None, max_length=limits.PROJECT_CHARS)]
"""'' removes it."""
Agent = Annotated[str, Line(max_length=limits.AGENT_CHARS)]
Session = Annotated[str, Line(max_length=limits.SESSION_CHARS)]
Speaker = Annotated[str, Line(max_length=limits.SPEAKER_CHARS)]
Title = Annotated[str, Line(max_length=limits.TITLE_CHARS), _composed(limits.TITLE_CHARS)]
NewTitle = Annotated[str, Line(min_length=None, max_length=limits.TITLE_CHARS), _composed(limits.TITLE_CHARS)]
"""'' removes it."""
Alias = Annotated[str, Line(max_length=limits.ALIAS_CHARS), _composed(limits.ALIAS_CHARS)]
Aliases = Annotated[tuple[Alias, ...], Field(max_length=limits.ALIASES), AfterValidator(_unique)]
Source = Annotated[str, Line(max_length=limits.SOURCE_CHARS)]
Tag = Annotated[str, Line(max_length=limits.TAG_CHARS), _composed(limits.TAG_CHARS)]
Tags = Annotated[tuple[Tag, ...], Field(max_length=limits.TAGS), AfterValidator(_unique)]
Metadata = Annotated[dict[str, Any], AfterValidator(_small_json)]
Confidence = Annotated[float, Field(ge=0, le=1), BeforeValidator(_real)]
Moment = Annotated[datetime, BeforeValidator(_written_time), AfterValidator(_zoned)]
Turn = Annotated[int, Field(strict=True, ge=0, le=limits.TURN)]
Hours = Annotated[int, Field(strict=True, ge=1, le=limits.EXPIRES_HOURS)]
IdempotencyKey = Annotated[str, Line(max_length=limits.IDEMPOTENCY_KEY_CHARS)]
Query = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=limits.QUERY_CHARS),
    AfterValidator(plain_text),
    _composed(limits.QUERY_CHARS),
]
Keyword = Annotated[str, Line(max_length=limits.KEYWORD_CHARS)]
Word = Annotated[Keyword, _composed(limits.KEYWORD_CHARS)]
"""A word to search for."""
Note = Annotated[str, StringConstraints(max_length=limits.REASON_CHARS), AfterValidator(plain_text)]
Name = Annotated[str, Line(max_length=limits.NAME_CHARS)]


class Submission(BaseModel):
    """One memory as submitted. Field names are the REST contract; unknown fields are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    content: Content
    type: MemoryType
    org: Org | None = None
    project: Project | None = None
    memory_scope: Scope = Scope.PROJECT
    agent_id: Agent | None = None
    session_id: Session | None = None
    turn: Turn | None = None
    speaker: Speaker | None = None
    title: Annotated[Title | None, Field(description="Its name: a question that contains it finds the memory.")] = None
    aliases: Annotated[Aliases, Field(description="Other names of the memory.")] = ()
    tags: Tags = ()
    metadata: Metadata = Field(default_factory=dict)
    source: Source = "manual"
    confidence: Confidence = 1.0
    supersedes: MemoryId | None = None
    occurred_at: Moment | None = None
    expires_in: Hours | None = Field(default=None, description="Hours from now.")
    expires_at: Moment | None = None
    allow_duplicate: bool = False
    embed: bool = Field(default=True, description="False: found by keyword only.")

    @model_validator(mode="after")
    def _together(self) -> Self:
        if self.expires_in is not None and self.expires_at is not None:
            raise ValueError("expires_in and expires_at exclude each other")
        if self.memory_scope is Scope.SESSION and not self.session_id:
            raise ValueError("session_id is required for memory_scope session")
        return self


class MemorySubmitted(Submission, EventData):
    """A submission by stream. On a stream bound to one workspace, `workspace_id` is ignored."""

    workspace_id: Annotated[str, StringConstraints(max_length=limits.WORKSPACE_CHARS)] | None = None
    idempotency_key: IdempotencyKey | None = None
