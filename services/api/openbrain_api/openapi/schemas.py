"""The schemas of requests and responses, in a form that client generators understand."""

from collections.abc import Iterable
from typing import Any

import orjson
from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from openbrain.contract.base import Problem
from openbrain.contract.brain.memories import BatchItemBody
from openbrain.contract.thoughts import BatchThoughtBody
from openbrain.usecases.transfer.lines import LINES
from openbrain_api.http.route import Nothing, Route

Json = dict[str, Any]
Named = dict[tuple[type[BaseModel], JsonSchemaMode], Json]
REF = "#/components/schemas/{model}"


def schemas_of(routes: Iterable[Route]) -> tuple[Named, dict[str, Json]]:
    """A reference to the schema of each model, and the schemas by name."""
    takes: set[type[BaseModel]] = {BatchItemBody, BatchThoughtBody, *LINES}
    gives: set[type[BaseModel]] = {Problem}
    for route in routes:
        takes |= {route.body, route.query} - {Nothing}
        gives |= {route.response} - {None} if route.response is not None else set()
    wanted: list[tuple[type[BaseModel], JsonSchemaMode]] = [
        *((model, "validation") for model in sorted(takes, key=lambda model: model.__name__)),
        *((model, "serialization") for model in sorted(gives, key=lambda model: model.__name__)),
    ]
    named, definitions = models_json_schema(wanted, ref_template=REF)
    schemas = {name: _defaults_in_words(schema) for name, schema in definitions["$defs"].items()}
    return {(model, mode): named[model, mode] for model, mode in wanted}, schemas


def _defaults_in_words(schema: Json) -> Json:
    """Move defaults into descriptions: client generators treat members with a `default` as required, or fail on that
    of a union."""
    if "properties" not in schema:
        return schema
    return {**schema, "properties": {name: _default_in_words(part) for name, part in schema["properties"].items()}}


def _default_in_words(schema: Json) -> Json:
    kept = {name: value for name, value in schema.items() if name != "default"}
    default = schema.get("default")
    if default in (None, "", [], {}) or isinstance(default, dict):
        return kept
    words = (kept.get("description", ""), f"Default: {orjson.dumps(default).decode()}.")
    return {**kept, "description": " ".join(filter(None, words))}
