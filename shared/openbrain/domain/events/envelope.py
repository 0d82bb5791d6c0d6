"""The envelope of an event: CloudEvents 1.0 JSON in the single field `__data__` of a stream entry.

Readers ignore unknown fields; a change that old readers can't handle is a new version of the type.
"""

from collections.abc import Mapping
from typing import Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import to_json

from openbrain.domain.errors import Invalid
from openbrain.domain.events.data import ID_PATTERN, NAME_PATTERN, NOT_BLANK, STREAM_PATTERN, EventData, Identifier
from openbrain.domain.times import to_iso

FIELD = "__data__"
FIELD_BYTES = FIELD.encode()
PREFIX = "openbrain."
SOURCE = "/openbrain"

_PATTERNS = {
    ID_PATTERN: "must be an id as it was returned: 36 characters, such as 01890000-0000-7000-8000-000000000000",
    NOT_BLANK: "must not be blank",
    NAME_PATTERN: "must begin with a letter or a digit, and have only letters, digits, - and _",
    STREAM_PATTERN: "must be the name of a stream, such as memory.stored: `openbrain streams` shows all",
}
"""Messages for values that do not match, by regular expression."""

Data = TypeVar("Data", bound=EventData)


class CloudEvent(BaseModel, Generic[Data]):
    """CloudEvents 1.0 with two extensions: the trace, and the submission that caused it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    specversion: Literal["1.0"] = "1.0"
    id: Identifier
    source: Identifier
    type: Identifier
    subject: str | None = None
    time: str | None = None
    datacontenttype: Literal["application/json"] = "application/json"
    dataschema: str | None = None
    traceparent: str | None = None
    causationid: str | None = None
    data: Data


def event_type(stream: str, version: int = 1) -> str:
    """`memory.stored` -> `openbrain.memory.stored.v1`."""
    return f"{PREFIX}{stream}.v{version}"


def encode(
    stream: str,
    data: EventData | Mapping[str, object],
    *,
    event_id: str,
    at: int,
    subject: str | None = None,
    causation_id: str | None = None,
    traceparent: str | None = None,
    source: str = SOURCE,
    version: int = 1,
) -> bytes:
    """Encode an event of `stream` (its name without prefix) to the bytes of `__data__`.

    `data` may be the fields of one of our own events, unchecked.
    """
    given = data if isinstance(data, Mapping) else data.__dict__
    event: dict[str, object] = {
        "specversion": "1.0",
        "id": event_id,
        "source": source,
        "type": event_type(stream, version),
        "time": to_iso(at),
        "datacontenttype": "application/json",
        "data": {name: value for name, value in given.items() if value is not None},
    }
    beside = {"subject": subject, "causationid": causation_id, "traceparent": traceparent}
    return to_json(event | {name: value for name, value in beside.items() if value})


def decode(model: type[CloudEvent[Data]], raw: bytes, expected_type: str) -> CloudEvent[Data]:
    """Parse an event. Raise `Invalid` with the first bad field and the reason, never its content."""
    try:
        event = model.model_validate_json(raw)
    except ValidationError as error:
        raise Invalid(*first_problem(error)) from None
    if event.type != expected_type:
        raise Invalid("type", f"must be {expected_type} on this stream")
    return event


def first_problem(error: ValidationError) -> tuple[str, str]:
    """(field, message) of a validation error, without the input that caused it."""
    problem = error.errors(include_input=False, include_url=False)[0]
    message = problem["msg"].removeprefix("Value error, ")
    if problem["type"] == "string_pattern_mismatch":
        of_cursor = "must be a cursor as the answer before gave it: without one, the first page is shown"
        message = of_cursor if "cursor" in problem["loc"] else _PATTERNS.get(problem["ctx"]["pattern"], message)
    return ".".join(str(part) for part in problem["loc"]), message
