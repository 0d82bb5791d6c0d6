"""The contract for producers and readers in any language: a JSON Schema per event, and one AsyncAPI 3 document."""

import json
from collections.abc import Mapping
from typing import Any

from faststream.redis import RedisBroker, StreamSub
from faststream.specification import AsyncAPI

from openbrain.domain.events.envelope import FIELD, CloudEvent
from openbrain.domain.events.streams import STREAMS, StreamSpec
from openbrain.domain.version import __version__

_INTRODUCTION = (
    f"Every entry of every stream has one field, `{FIELD}`, holding a CloudEvents 1.0 object as JSON. "
    "A settings prefix may stand before every stream name. Ignore fields that you don't know."
)


def event_schema(spec: StreamSpec) -> Mapping[str, Any]:
    """Return the JSON Schema (2020-12) of the event on one stream."""
    schema = CloudEvent[spec.data].model_json_schema(mode="validation")  # type: ignore[name-defined]
    schema["properties"]["type"] = {"const": spec.type}
    schema.pop("description", None)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": spec.type,
        "description": f"{spec.about} Published by {spec.published_by}.",
        **{key: value for key, value in schema.items() if key != "title"},
    }


def asyncapi() -> Mapping[str, Any]:
    """Return the AsyncAPI 3 document of the system, generated from the declarations that the services use."""
    broker = RedisBroker("redis://localhost:6379")
    for spec in STREAMS:
        message = CloudEvent[spec.data]  # type: ignore[name-defined]
        for group in spec.groups:
            reader = _declared(message)
            stream = StreamSub(spec.name, group=group, consumer=f"{group}-replica")
            broker.subscriber(stream=stream, title=f"{spec.name} read by {group}", description=spec.about)(reader)
        broker.publisher(stream=spec.address, title=f"{spec.name} published", description=spec.about, schema=message)
    specification = AsyncAPI(
        broker, title="OpenBrain", version=__version__, description=_INTRODUCTION
    ).to_specification()
    document: Mapping[str, Any] = json.loads(json.dumps(specification.to_jsonable(), sort_keys=True))
    for channel in document["channels"].values():
        if "{workspace}" in channel["address"]:
            channel["parameters"] = {"workspace": {"description": "Whose signals."}}
    return document


def _declared(message: type) -> Any:
    async def read(event: Any) -> None:
        """A handler for the declaration only: the services do the reading."""

    read.__annotations__["event"] = message
    return read


def documents() -> Mapping[str, str]:
    """Return the texts by file name under docs/reference/."""
    files = {f"events/{spec.name}.schema.json": _json(event_schema(spec)) for spec in STREAMS}
    return files | {"asyncapi.json": _json(asyncapi())}


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
