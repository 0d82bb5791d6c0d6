"""Conversion of foreign values to the plain JSON that a memory's metadata may contain."""

import json
import math
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from openbrain_cli.importers.found_memory import clean

ROOM_BYTES = 8 * 1024
"""Limit for metadata from the file itself; the rest of the metadata is ours."""
_DEPTH = 6


def json_safe(value: Any, depth: int = _DEPTH) -> Any:
    """Convert any YAML, JSON or CSV value to JSON that every database accepts."""
    match value:
        case None | bool():
            return value
        case str():
            return clean(value)
        case int() if abs(value) < 2**53:
            return value
        case float() if math.isfinite(value):
            return value
        case datetime() | date():
            return value.isoformat()
        case dict() if depth:
            return {clean(str(name)): json_safe(item, depth - 1) for name, item in value.items()}
        case list() | tuple() | set() if depth:
            return [json_safe(item, depth - 1) for item in value]
    return clean(str(value))


def that_fit(values: Mapping[str, Any], room: int = ROOM_BYTES) -> tuple[dict[str, Any], list[str]]:
    """Keep values in order until `room` bytes are used. Return them and the names that were cut: a list loses its
    end, any other value is dropped."""
    kept: dict[str, Any] = {}
    short = []
    for name, value in values.items():
        simple = json_safe(value)
        while isinstance(simple, list) and simple and _size(name, simple) > room:
            short += [name] if name not in short else []
            simple = simple[: len(simple) // 2]
        if (size := _size(name, simple)) > room:
            short += [name] if name not in short else []
            continue
        room -= size
        kept[clean(name)] = simple
    return kept, short


def _size(name: str, value: Any) -> int:
    return len(json.dumps({name: value}, ensure_ascii=False).encode("utf-8", "replace"))
