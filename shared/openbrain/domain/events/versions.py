"""Several versions of an event at once: a reader is written for the newest; older events are upgraded to it.

In a rolling upgrade readers are upgraded before producers, so new versions mostly reach readers that know them. An
older reader that gets one fails that attempt; a newer replica of its group takes it over.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from openbrain.domain.errors import Invalid, UnknownVersion
from openbrain.domain.events.data import EventData, Identifier
from openbrain.domain.events.envelope import CloudEvent, event_type, first_problem

Decode = Callable[[bytes], CloudEvent[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Older:
    """An older version that is still read."""

    version: int
    data: type[EventData]
    lift: Callable[[Any], EventData]
    """The upgrade of its data to the newest version."""


class _Typed(BaseModel):
    model_config = ConfigDict(extra="ignore")

    type: Identifier


def decoder(stream: str, data: type[EventData], *, version: int = 1, older: Sequence[Older] = ()) -> Decode:
    """Return a function that reads the bytes of any version known here as `CloudEvent[data]`.

    The function raises `Invalid` with the first bad field and the reason, never its content; `UnknownVersion` for an
    event of the stream in any other version.
    """
    newest: type[CloudEvent[Any]] = CloudEvent[data]  # type: ignore[valid-type]
    expected = event_type(stream, version)
    known = {event_type(stream, item.version): (CloudEvent[item.data], item.lift) for item in older}  # type: ignore[name-defined]
    of_the_stream = re.compile(re.escape(expected.rpartition("v")[0]) + r"v[1-9][0-9]{0,5}")

    def decode(raw: bytes) -> CloudEvent[Any]:
        try:
            event = newest.model_validate_json(raw)
        except ValidationError as error:
            named, problem = _named(raw), Invalid(*first_problem(error))
        else:
            if event.type == expected:
                return event
            named, problem = event.type, Invalid("type", f"must be {expected} on this stream")
        if named in known:
            return _lifted(raw, newest, *known[named])
        if named != expected and of_the_stream.fullmatch(named):
            raise UnknownVersion(
                f"type: {named} is not known here, {', '.join([*known, expected])} is: upgrade this service, "
                "then replay what became a dead letter"
            )
        raise problem from None

    return decode


def _named(raw: bytes) -> str:
    """Return the declared type, or ''."""
    try:
        return _Typed.model_validate_json(raw).type
    except ValidationError:
        return ""


def _lifted(
    raw: bytes, newest: type[CloudEvent[Any]], model: type[CloudEvent[Any]], lift: Callable[[Any], EventData]
) -> CloudEvent[Any]:
    try:
        event = model.model_validate_json(raw)
        return newest.model_construct(**{**event.__dict__, "data": lift(event.data)})
    except ValidationError as error:
        raise Invalid(*first_problem(error)) from None
