"""Events with one extreme value at one place, as far as their models accept it."""

import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from openbrain.domain.errors import OpenBrainError
from openbrain.domain.events.envelope import CloudEvent
from openbrain.domain.events.streams import SIGNAL_ACKNOWLEDGED, SIGNAL_RAISED, SUBMITTED, TICK_REQUESTED, StreamSpec
from tests.support.api.inputs.extremes import RAW, Place, around, places
from tests.support.streams.fuzz import changed, event, submission

_OWN = "@own id@"


def usual(spec: StreamSpec, memory_id: str) -> Mapping[str, Any]:
    """Return the data of a valid event of this stream."""
    signal = {"workspace_id": "default", "source": "s", "severity": "warning", "title": "t", "content": "c"}
    given = {
        SUBMITTED.name: {**submission(), "allow_duplicate": True},
        SIGNAL_RAISED.name: signal,
        SIGNAL_ACKNOWLEDGED.name: {"workspace_id": "default", "agent_id": "a", "action": "ack", "seq": 1},
        TICK_REQUESTED.name: {"workspace_id": "default", "slot": "s", "dry_run": True},
    }
    return given.get(spec.name) or changed(memory_id)


def readable(spec: StreamSpec, memory_id: str) -> Iterator[tuple[Place, list[tuple[bytes, bytes]]]]:
    """Yield each place of the stream's event, with the values that are accepted there and the events that have them.
    Fail if an event is neither read nor refused."""
    model: Any = CloudEvent[spec.data]  # type: ignore[name-defined]
    schema, decode = model.model_json_schema(), spec.decoder()
    whole = event(spec.name, usual(spec, memory_id), _OWN)
    for place in places(schema, schema["$defs"]):
        before, behind = around(whole, place)
        found = []
        for raw in RAW:
            body = (before + raw + behind).replace(_OWN.encode(), str(uuid.uuid4()).encode())
            try:
                decode(body)
            except OpenBrainError:
                continue
            found.append((raw, body))
        yield place, found
