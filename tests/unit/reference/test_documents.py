"""The committed reference pages say what the code does."""

from pathlib import Path
from typing import Any

import jsonschema
import orjson
import pytest

from openbrain.domain.events.envelope import encode
from openbrain.domain.events.streams import STORED, STREAMS, SUBMITTED, StreamSpec
from openbrain.domain.events.submission import MemorySubmitted
from openbrain.domain.memory import MemoryType
from openbrain.runtime.container import Container
from openbrain.settings import Settings
from openbrain.streams.operating.asyncapi import asyncapi, documents, event_schema
from openbrain_housekeeper.app import application

REFERENCE = Path(__file__).parents[3] / "docs" / "reference"
DOCUMENTS = documents()


@pytest.mark.parametrize("name", sorted(DOCUMENTS))
def test_the_committed_page_is_what_openbrain_schema_prints(name: str) -> None:
    assert (REFERENCE / name).read_text(encoding="utf-8") == DOCUMENTS[name], "run: openbrain schema --write"


def test_no_page_is_left_from_a_stream_that_is_gone() -> None:
    there = {str(path.relative_to(REFERENCE)) for path in (REFERENCE / "events").glob("*.json")}

    assert there == {name for name in DOCUMENTS if name.startswith("events/")}


@pytest.mark.parametrize("spec", STREAMS, ids=lambda spec: spec.name)
def test_every_schema_is_a_valid_json_schema(spec: StreamSpec) -> None:
    jsonschema.Draft202012Validator.check_schema(event_schema(spec))


def test_an_encoded_event_fits_its_schema_and_a_wrong_one_does_not() -> None:
    data = MemorySubmitted(content="The cache key lacks the tenant.", type=MemoryType.BUG, workspace_id="default")
    event = orjson.loads(encode(SUBMITTED.name, data, event_id="1", at=0))
    validator = jsonschema.Draft202012Validator(event_schema(SUBMITTED))

    assert list(validator.iter_errors(event)) == []
    assert list(validator.iter_errors({**event, "type": STORED.type})) != []


def test_the_system_document_names_every_stream_and_reader() -> None:
    document = asyncapi()
    addresses = {channel["address"] for channel in document["channels"].values()}
    groups = {
        (channel["address"], channel["bindings"]["redis"].get("groupName")) for channel in document["channels"].values()
    }

    assert document["asyncapi"] == "3.0.0"
    assert addresses == {spec.address for spec in STREAMS}
    assert "amygdala.broadcast.{workspace}" in addresses
    assert {(spec.name, group) for spec in STREAMS for group in spec.groups} <= groups


def test_the_housekeepers_page_names_what_it_relays() -> None:
    container = Container(Settings.model_validate({"streams": {"url": "redis://nowhere.invalid", "prefix": "p."}}))
    document: dict[str, Any] = application(container).schema.to_specification().to_jsonable()
    addresses = {channel["address"] for channel in document["channels"].values()}

    assert {"p.memory.stored", "p.amygdala.broadcast.{workspace}", "p.tick.completed"} <= addresses
