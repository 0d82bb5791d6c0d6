"""Parses text to complete events of a stream. All are checked; if one is invalid, none is returned."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import orjson
from pydantic import ValidationError

from openbrain.domain import limits
from openbrain.domain.errors import Invalid, NotFound, SetupError
from openbrain.domain.events.data import EventData
from openbrain.domain.events.envelope import CloudEvent, decode, encode, first_problem
from openbrain.domain.events.streams import BROADCAST, STREAMS, SUBMITTED, StreamSpec
from openbrain.domain.ids import uuid7

SOURCE = "/openbrain/cli"


@dataclass(frozen=True, slots=True)
class _Target:
    spec: StreamSpec
    bound: bool
    """True if the stream's name contains the workspace."""


def checked(stream: str, raw: bytes, *, workspace: str = "") -> Sequence[bytes]:
    """Return the complete events in `raw`, which is one JSON object or one per line.

    Raise `Invalid` with the line, field and limit, or `NotFound` for an unknown stream.
    """
    target = _target(stream)
    events = []
    for number, item in _objects(raw):
        try:
            events.append(_event(target, item, workspace))
        except Invalid as error:
            message = str(error).removeprefix(f"{error.field}: ") if error.field else str(error)
            raise Invalid(f"line {number}: {error.field}".rstrip(": "), message) from None
    if not events:
        raise Invalid("", "there is no event: give one JSON object, or one on each line")
    return events


def _target(stream: str) -> _Target:
    for spec in STREAMS:
        bound = spec.per_workspace and stream.startswith(f"{spec.name}.") and len(stream) > len(spec.name) + 1
        if stream != spec.name and not bound:
            continue
        if spec is BROADCAST:
            raise SetupError(f"{BROADCAST.name} is written by the system alone: publish to signal.raised instead")
        return _Target(spec, bound)
    raise NotFound(f"there is no stream {stream}: choose one of {', '.join(spec.name for spec in STREAMS)}")


def _objects(raw: bytes) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the objects, each with the number of its first line."""
    try:
        whole = orjson.loads(raw)
    except orjson.JSONDecodeError:
        whole = None
    if isinstance(whole, dict):
        yield 1, whole
        return
    for number, line in enumerate(raw.split(b"\n"), 1):
        if line.strip():
            yield number, _object(line, number)


def _object(line: bytes, number: int) -> Mapping[str, Any]:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        raise Invalid(f"line {number}", "is no JSON") from None
    if not isinstance(value, dict):
        raise Invalid(f"line {number}", "must be a JSON object: an event, or the data of one")
    return value


@cache
def _model(data: type[EventData]) -> type[CloudEvent[Any]]:
    """Cached: creating a model takes longer than reading an event."""
    return CloudEvent[data]  # type: ignore[valid-type]


def _event(target: _Target, given: Mapping[str, Any], workspace: str) -> bytes:
    """Return a complete CloudEvent unchanged, or wrap bare data in one."""
    whole = "specversion" in given and "data" in given
    data = given["data"] if whole else given
    if target.spec is SUBMITTED and isinstance(data, dict):
        data = _of_workspace(target, data, workspace, "data." if whole else "")
    if whole:
        finished = orjson.dumps({**given, "data": data})
        decode(_model(target.spec.data), finished, target.spec.type)
    else:
        try:
            parsed = target.spec.data.model_validate_json(orjson.dumps(data))
        except ValidationError as error:
            raise Invalid(*first_problem(error)) from None
        now = time.time_ns() // 1000
        finished = encode(target.spec.name, parsed, event_id=uuid7(now), at=now, source=SOURCE)
    if len(finished) > limits.BODY_BYTES:
        raise Invalid("", f"must be at most {limits.BODY_BYTES} bytes")
    return finished


def _of_workspace(target: _Target, data: Mapping[str, Any], workspace: str, where: str) -> Mapping[str, Any]:
    if workspace and not data.get("workspace_id"):
        data = {**data, "workspace_id": workspace}
    if not target.bound and not data.get("workspace_id"):
        raise Invalid(f"{where}workspace_id", "is required on this stream: name it in the event, or give --workspace")
    return data
