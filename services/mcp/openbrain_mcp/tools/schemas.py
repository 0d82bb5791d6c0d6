"""Compacts the listed schemas of tools to save tokens."""

from collections.abc import Collection, Mapping
from typing import Any


def compact(schema: Mapping[str, Any], unlisted: Collection[str] = ()) -> dict[str, Any]:
    """The schema without titles, defaults, nulls, references and unlisted arguments."""
    definitions = schema.get("$defs", {})
    properties = {name: part for name, part in schema.get("properties", {}).items() if name not in unlisted}
    made: dict[str, Any] = {"type": "object", "properties": {k: _small(v, definitions) for k, v in properties.items()}}
    if required := [name for name in schema.get("required", ()) if name in properties]:
        made["required"] = required
    return made


def _small(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    if reference := schema.get("$ref"):
        return _small({**definitions[reference.rpartition("/")[2]], **_beside(schema)}, definitions)
    choices = [item for item in schema.get("anyOf", ()) if item != {"type": "null"}]
    if len(choices) == 1:
        return _small({**choices[0], **_beside(schema)}, definitions)
    made: dict[str, Any] = {}
    for name, value in schema.items():
        if name in {"title", "default"}:
            continue
        if name == "anyOf":
            made[name] = [_small(choice, definitions) for choice in choices]
        elif name == "properties":
            made[name] = {key: _small(item, definitions) for key, item in value.items()}
        elif name == "items":
            made[name] = _small(value, definitions)
        else:
            made[name] = value
    return made


def _beside(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The members of a schema other than its reference or choices."""
    return {name: value for name, value in schema.items() if name not in {"$ref", "anyOf", "title"}}
