"""All events are checked before the first one is sent."""

import json
from typing import Any

import pytest

from openbrain.domain.errors import Invalid, NotFound, SetupError
from openbrain.domain.events.envelope import CloudEvent, decode
from openbrain.domain.events.submission import MemorySubmitted
from openbrain_cli.operators.streams.event_parsing import checked

MEMORY = {"content": "Build 4711 failed.", "type": "bug", "workspace_id": "acme"}


def lines(*objects: Any) -> bytes:
    return "\n".join(json.dumps(each) for each in objects).encode()


def event(data: Any, **changes: Any) -> dict[str, Any]:
    type_ = "openbrain.memory.submitted.v1"
    return {"specversion": "1.0", "id": "b-1", "source": "/ci", "type": type_, "data": data, **changes}


def parsed(raw: bytes) -> CloudEvent[MemorySubmitted]:
    return decode(CloudEvent[MemorySubmitted], raw, "openbrain.memory.submitted.v1")


def test_bare_data_is_wrapped_with_an_id_of_its_own() -> None:
    first, second = (parsed(each) for each in checked("memory.submitted", lines(MEMORY, MEMORY)))

    assert first.data.content == second.data.content == "Build 4711 failed."
    assert first.id != second.id
    assert first.source == "/openbrain/cli"


def test_a_whole_event_goes_out_as_it_came() -> None:
    given = event(MEMORY, traceparent="00-a", extension="kept")
    (sent,) = checked("memory.submitted", lines(given))

    assert json.loads(sent) == given


def test_one_object_may_stand_on_many_lines() -> None:
    assert len(checked("memory.submitted", json.dumps(MEMORY, indent=2).encode())) == 1


def test_a_workspace_of_the_command_line_is_put_where_none_is_named() -> None:
    bare = {"content": "x", "type": "fact"}
    sent = checked("memory.submitted", lines(bare, MEMORY, event(bare)), workspace="w1")

    assert [parsed(each).data.workspace_id for each in sent] == ["w1", "acme", "w1"]


def test_a_stream_bound_to_a_workspace_needs_none() -> None:
    assert checked("memory.submitted.w1", lines({"content": "x", "type": "fact"}))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lines(MEMORY, {**MEMORY, "content": "x" * 50_001}), "line 2: content: .*50000"),
        (lines(MEMORY, {**MEMORY, "type": "opinion"}), "line 2: type: "),
        (lines({**MEMORY, "tags": ["t"] * 51}), "line 1: tags: "),
        (lines(event({**MEMORY, "confidence": 2})), "line 1: data.confidence: "),
        (lines(event(MEMORY, type="openbrain.memory.stored.v1")), "line 1: type: must be"),
        (lines(event("text")), "line 1: data: "),
        (lines({"content": "x", "type": "fact"}), "line 1: workspace_id: is required"),
        (b'{"content": "x"\n', "line 1: is no JSON"),
        (b"[1, 2]", "line 1: must be a JSON object"),
        (b"\xff\xfe", "line 1: is no JSON"),
        (b'{"content": NaN}', "line 1: is no JSON"),
        (b"\n  \n", "there is no event"),
    ],
)
def test_one_bad_event_stops_all_and_is_named(given: bytes, message: str) -> None:
    with pytest.raises(Invalid, match=message) as refused:
        checked("memory.submitted", given)
    assert "Build 4711" not in str(refused.value)


def test_only_streams_that_are_there_and_open_to_producers() -> None:
    with pytest.raises(NotFound, match=r"choose one of memory\.submitted"):
        checked("memory.sumbitted", lines(MEMORY))
    with pytest.raises(NotFound):
        checked("memory.stored.w1", lines(MEMORY))
    with pytest.raises(SetupError, match=r"signal\.raised"):
        checked("amygdala.broadcast.w1", lines(MEMORY))
