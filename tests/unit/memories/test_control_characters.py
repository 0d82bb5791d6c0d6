"""No field of a request, event or import line accepts a control character. The cases are generated from the models."""

import json
import uuid
from collections.abc import Callable, Iterator, Mapping
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import orjson
import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from openbrain.contract.brain.memories import BatchItemBody
from openbrain.contract.brain.recall import RecallBody
from openbrain.domain.errors import Invalid
from openbrain.domain.events import streams
from openbrain.domain.events.envelope import CloudEvent
from openbrain.domain.events.submission import Agent, IdempotencyKey
from openbrain.domain.text.control_characters import cleaned, cleaned_json, cleaned_line, plain_json
from openbrain.usecases.transfer.lines import AnyLine, HistoryEntryLine, MemoryLine, parse_line
from openbrain_api.handlers import ROUTES
from tests.support.api.routes.marked_requests import memory_line
from tests.support.processes.overhearing import Marks

CONTROLS = [chr(code) for code in (*range(9), 11, 12, *range(14, 32), *range(127, 160), 0xD800, 0xDFFF)]
SHAPES: Mapping[str, Callable[[str], Any]] = {
    "text": lambda text: text,
    "list": lambda text: [text],
    "list of lists": lambda text: [[text]],
    "value": lambda text: {"a": text},
    "key": lambda text: {text: "a"},
    "deep": lambda text: {"a": [{"b": text}]},
}
NOT_KEPT = {
    # Cleaned when a page is written, because agents often post terminal output here.
    "MarkerBody.content",
    "MarkerBody.attrs",
    # Must be kept complete and must not be refused: control characters are written as \\u001b.
    "ThoughtBody.content",
    "ThoughtPatchBody.content",
    # Reads: compared with stored values and never kept. The vault refuses unprintable characters in paths.
    "VaultListQuery.path",
    "VaultListQuery.cursor",
    "VaultReadQuery.path",
    "VaultSearchQuery.path",
    "VaultSearchQuery.q",
    "ArcsQuery.q",
    "SearchQuery.cursor",
    # The members of these objects are fields here; unknown ones are ignored.
    "RecallBody.filter",
    "SubscriptionBody.filter",
    # Parsed and checked item by item, with the item models listed here.
    "BatchBody.memories",
    "RecallBatchBody.queries",
    "ThoughtBatchBody.thoughts",
    # Fields of an import that nobody is shown.
    "Header.workspace_id",
    "Header.filters",
    # Names an existing workspace, whose name has no control characters; or not free text.
    "MemorySubmitted.workspace_id",
    "SignalRaised.workspace_id",
    "SignalAcknowledged.workspace_id",
    "TickRequested.workspace_id",
    "CloudEvent.subject",
    "CloudEvent.time",
    "CloudEvent.dataschema",
    "CloudEvent.traceparent",
    "CloudEvent.causationid",
}
INBOUND = (streams.SUBMITTED, streams.SIGNAL_RAISED, streams.SIGNAL_ACKNOWLEDGED, streams.TICK_REQUESTED)


def models(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the models that an annotation names, and the models of their fields."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        for field in annotation.model_fields.values():
            yield from models(field.annotation)
    elif get_origin(annotation) in (Union, UnionType, Annotated, tuple, list, dict):
        for part in get_args(annotation):
            yield from models(part)


def every_field() -> dict[str, TypeAdapter[Any]]:
    roots: list[Any] = [each for route in ROUTES for each in (route.body, route.query)]
    roots += [BatchItemBody, RecallBody, CloudEvent, *(stream.data for stream in INBOUND), AnyLine]
    found = {model.__name__: model for root in roots for model in models(root)}
    return {
        f"{name}.{member}": TypeAdapter(field.rebuild_annotation())
        for name, model in found.items()
        for member, field in model.model_fields.items()
        if member != "data"
    }


def takes(adapter: TypeAdapter[Any], value: Any) -> bool:
    try:
        adapter.validate_python(value)
    except (ValidationError, UnicodeEncodeError):
        return False
    return True


def test_no_field_takes_one() -> None:
    fields = every_field()
    texts = [
        (name, adapter, shape)
        for name, adapter in fields.items()
        for shape in SHAPES.values()
        if takes(adapter, shape("ab"))
    ]
    taken = {
        name for name, adapter, shape in texts if any(takes(adapter, shape(f"a{control}b")) for control in CONTROLS)
    }
    assert len({name for name, *_ in texts}) > 60
    assert taken - NOT_KEPT == set()
    assert NOT_KEPT - set(fields) == set()


@pytest.mark.parametrize("adapter", [TypeAdapter(Agent), TypeAdapter(IdempotencyKey)])
def test_no_header_takes_one(adapter: TypeAdapter[str]) -> None:
    assert takes(adapter, "ab")
    assert not any(takes(adapter, f"a{control}b") for control in CONTROLS)


def test_what_is_cleaned_is_taken() -> None:
    text = "".join(f"a{control}" for control in CONTROLS)
    assert cleaned(text) == "a" * len(CONTROLS)
    assert cleaned_line(f"\x1b{text}\n") == " ".join("a" * len(CONTROLS))
    assert plain_json(cleaned_json({text: [text, {text: text}], "n": 1})) == {
        "a" * len(CONTROLS): ["a" * len(CONTROLS), {"a" * len(CONTROLS): "a" * len(CONTROLS)}],
        "n": 1,
    }
    assert cleaned("tab\tline\r\nend") == "tab\tline\r\nend"


def test_lines_of_earlier_versions_are_read_without_those_that_they_took() -> None:
    """C1 characters were stored until they were refused at write; such memories can still be restored."""
    given, c1 = Marks(), "".join(map(chr, range(0x80, 0xA0)))
    line = {**memory_line(given), "id": str(uuid.uuid4())}
    texts = ("content", "project", "agent_id", "session_id", "speaker", "source")
    old = line | dict.fromkeys(texts, f"{c1}a{c1}b") | {"tags": [f"a{c1}"], "metadata": {f"k{c1}": [f"v{c1}"]}}
    read = parse_line(orjson.dumps(old))
    assert isinstance(read, MemoryLine)
    assert {getattr(read, name) for name in texts} == {"ab"}
    assert (read.tags, read.metadata) == (("a",), {"k": ["v"]})

    at = "2020-02-02T00:00:00Z"
    history = {"kind": "history", "memory_id": line["id"], "version": 1, "revision": 1, "at": at}
    entry = parse_line(
        orjson.dumps({**history, "action": "edited", "actor": f"ada{c1}", "before": {"a": f"b{c1}"}, "note": c1})
    )
    assert isinstance(entry, HistoryEntryLine)
    assert (entry.actor, entry.before, entry.note) == ("ada", '{"a":"b"}', "")

    for control in map(chr, (*range(9), 11, 12, *range(14, 32), 127)):
        with pytest.raises(Invalid, match="control characters"):
            parse_line(json.dumps({**line, "content": f"a{control}{c1}"}).encode())
