"""Malformed entries for Hypothesis: from random bytes over broken events to valid events."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from openbrain.domain.events.envelope import FIELD, encode, event_type
from openbrain.domain.events.streams import SUBMITTED
from openbrain.domain.memory import Change, MemoryType, Reason

Fields = Sequence[tuple[bytes, bytes]]
DATA = FIELD.encode()
DEEP, LONG, HUGE, SURROGATE = "@deep@", "@long@", "@huge@", "@surrogate@"
_RAW: Mapping[bytes, bytes] = {
    b'"@deep@"': b"[" * 5000 + b"]" * 5000,
    b'"@long@"': b'"' + b"x" * 2**20 + b'"',
    b'"@huge@"': b"9" * 400,
    b'"@surrogate@"': rb'"\ud800 lone"',
}
"""Text that json.dumps can't write, or only slowly."""

leaves: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=2**63, max_value=2**70),
    st.floats(),
    st.text(max_size=30),
    st.sampled_from([DEEP, LONG, HUGE, SURROGATE, "", "\0", "\x1b[2J", "a\nb", "ﷺ" * 300, "9999-12-31T23:59:59Z"]),
    st.uuids().map(str),
)
anything: st.SearchStrategy[Any] = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=8,
)


def submission(content: str = "said by a fuzzer") -> dict[str, Any]:
    """Return the data of memory.submitted, with every field."""
    return {
        "content": content,
        "type": MemoryType.FACT,
        "workspace_id": "default",
        "org": "o",
        "project": "p",
        "memory_scope": "project",
        "agent_id": "a",
        "session_id": "s",
        "turn": 1,
        "speaker": "Bo",
        "tags": ["t"],
        "metadata": {"k": {"n": [1.5, None]}},
        "source": "fuzz",
        "confidence": 0.5,
        "occurred_at": "2026-01-31T12:00:00Z",
        "expires_in": 24,
        "allow_duplicate": False,
        "embed": True,
    }


def changed(memory_id: str) -> dict[str, Any]:
    """Return the combined data of all events about a memory: readers ignore fields that are not theirs."""
    return {
        "memory_id": memory_id,
        "workspace_id": "default",
        "version": 1,
        "revision": 1,
        "change": Change.CREATED,
        "model": "m",
        "generation": None,
        "reason": Reason.FORGOTTEN,
        "superseded_by": None,
    }


WIDE: Fields = [(f"f{number}".encode(), b"x") for number in range(9000)]
STRANGE: Mapping[str, Fields] = {
    "wide": WIDE,
    "wide, with an event": [*WIDE, (DATA, b"{}")],
    "in the year one": [
        (DATA, encode(SUBMITTED.name, {**submission(), "occurred_at": "0001-01-01T00:00:00+23:59"}, event_id="e", at=0))
    ],
    "deep": [(DATA, b"[" * 100_000)],
    "deep in a field": [(DATA, b'{"data":{"workspace_id":' + b"[" * 900 + b"]" * 900 + b"}}")],
}
"""Each of these once stopped a sweep."""


def event(stream: str, data: Mapping[str, Any], event_id: str) -> dict[str, Any]:
    """Return a complete CloudEvent, with every attribute."""
    return {
        "specversion": "1.0",
        "id": event_id,
        "source": "/fuzz",
        "type": event_type(stream),
        "subject": "s",
        "time": "2026-01-31T12:00:00Z",
        "datacontenttype": "application/json",
        "dataschema": "urn:x",
        "traceparent": f"00-{'1' * 32}-{'2' * 16}-01",
        "causationid": "c",
        "data": dict(data),
    }


def as_bytes(value: Any) -> bytes:
    """Encode JSON as careless producers write it: NaN, lone surrogates, numbers of any size."""
    raw = json.dumps(value).encode()
    for sign, written in _RAW.items():
        raw = raw.replace(sign, written)
    return raw


@st.composite
def broken_events(draw: st.DrawFn, stream: str, memory_id: str) -> bytes:
    """Draw an event with up to three wrong places, then perhaps wrong bytes."""
    kind = SUBMITTED.name if stream.startswith(SUBMITTED.name) else stream
    value = event(kind, changed(memory_id) if memory_id else submission(), draw(st.uuids().map(str)))
    for _ in range(draw(st.integers(0, 3))):
        _spoil(draw, value)
    return draw(st.sampled_from(_SPOILERS))(draw, as_bytes(value))


def _spoil(draw: st.DrawFn, value: dict[str, Any]) -> None:
    """Replace, remove or add a value at a random path."""
    at: Any = value
    while True:
        inner = [
            each for each in (at.values() if isinstance(at, dict) else at) if isinstance(each, dict | list) and each
        ]
        if not inner or draw(st.booleans()):
            break
        at = draw(st.sampled_from(inner))
    keys = list(at) if isinstance(at, dict) else list(range(len(at)))
    key = draw(st.sampled_from(keys))
    match draw(st.sampled_from(["replace", "remove", "add"])):
        case "replace":
            at[key] = draw(anything)
        case "remove":
            del at[key]
        case "add" if isinstance(at, dict):
            at[draw(st.text(max_size=20))] = draw(anything)
        case "add":
            at.extend(draw(st.lists(anything, max_size=3)))


def _whole(_draw: st.DrawFn, raw: bytes) -> bytes:
    return raw


def _cut(draw: st.DrawFn, raw: bytes) -> bytes:
    return raw[: draw(st.integers(0, len(raw)))]


def _flipped(draw: st.DrawFn, raw: bytes) -> bytes:
    at = draw(st.integers(0, len(raw) - 1))
    return raw[:at] + draw(st.binary(min_size=1, max_size=3)) + raw[at + 1 :]


def _twice(draw: st.DrawFn, raw: bytes) -> bytes:
    """Repeat a member with another value."""
    name = draw(st.sampled_from(["id", "type", "data", "specversion", "source"]))
    return raw[:-1] + b"," + json.dumps(name).encode() + b":" + as_bytes(draw(anything)) + b"}"


def _recoded(draw: st.DrawFn, raw: bytes) -> bytes:
    return raw.decode().encode(draw(st.sampled_from(["utf-16", "utf-32", "utf-8-sig"])))


_SPOILERS: Sequence[Callable[[st.DrawFn, bytes], bytes]] = [_whole, _whole, _whole, _cut, _flipped, _twice, _recoded]


def entries(stream: str, memory_id: str = "") -> st.SearchStrategy[Fields]:
    """Draw entries of a stream: usually with one data field, else with additional fields, without it, or with it twice.
    `memory_id`: the memory of events that are not submissions."""
    bodies = broken_events(stream, memory_id) | st.binary(max_size=60) | anything.map(as_bytes)
    other = st.tuples(st.binary(max_size=12), st.binary(max_size=40))
    ours = bodies.map(lambda body: (DATA, body))
    return st.one_of(
        ours.map(lambda field: [field]),
        ours.map(lambda field: [field]),
        st.tuples(ours, st.lists(other, max_size=4)).map(lambda both: [*both[1], both[0]]),
        st.lists(ours, min_size=2, max_size=3),
        st.lists(other, min_size=1, max_size=5),
        st.sampled_from([b"stream", b"group", b"error", b"message", b"__data__ "]).map(lambda name: [(name, b"x")]),
    )
