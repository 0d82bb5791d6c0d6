"""Converts records to memories. Fields are recognised by their names, or named by the user."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from openbrain.domain import limits
from openbrain.domain.memory import MemoryType, Scope
from openbrain_cli.importers.found_memory import FoundMemory, line, tags
from openbrain_cli.importers.json_safe import json_safe, that_fit
from openbrain_cli.importers.markdown.chunks import Chunker
from openbrain_cli.importers.markdown.sections import first_words
from openbrain_cli.importers.memory_types import by_words, declared_type

FIELDS: Mapping[str, tuple[str, ...]] = {
    "content": ("content", "text", "memory", "note", "body", "fact", "description", "value"),
    "title": ("title", "heading", "subject", "name"),
    "id": ("id", "uuid", "key"),
    "type": ("type", "kind", "category"),
    "tags": ("tags", "labels", "categories", "keywords"),
    "project": ("project",),
    "occurred_at": ("occurred_at", "date", "created_at", "created", "timestamp", "time"),
    "confidence": ("confidence",),
    "session_id": ("session_id", "session"),
    "speaker": ("speaker", "role", "author"),
}
"""Our fields and the names that a record may use for them; the first that has a value is used, ignoring case."""

_SECONDS = 1e11
"""A larger timestamp is in milliseconds."""
_DAY = re.compile(r"(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])", re.ASCII)
_TAGS = 40
_NOTHING: tuple[Any, ...] = (None, "", [], {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapped:
    """The mapping of records of one kind."""

    fields: Mapping[str, tuple[str, ...]]
    types: Mapping[str, MemoryType] = field(default_factory=dict)
    """The other system's names of types, in lower case."""
    otherwise: MemoryType = MemoryType.OBSERVATION
    confidence: float = 1.0

    def with_columns(self, named: Mapping[str, str]) -> "Mapped":
        """The mapping, with the columns that the user named."""
        chosen = {name: (column,) for name, column in named.items()}
        return replace(self, fields={**self.fields, **chosen})


GENERIC = Mapped(fields=FIELDS)


def memories(record: Mapping[str, Any], mapped: Mapped, chunker: Chunker) -> Iterator[FoundMemory]:
    """Yield the memory of a record, or none if it has no text. Fields that are not mapped go to the metadata."""
    taken = {name: key for name, keys in mapped.fields.items() if (key := _key(record, keys)) is not None}
    values = {name: _value(record, key) for name, key in taken.items()}
    content = _text(values.get("content"))
    if not content.strip():
        return
    title, identity = _text(values.get("title")).strip(), _text(values.get("id")).strip()
    declared = _text(values.get("type"))
    understood: dict[str, Any] = {
        "content": content,
        "title": title,
        "type": mapped.types.get(declared.strip().lower()) or declared_type(declared),
        "tags": _words(values.get("tags")),
        "occurred_at": when(values.get("occurred_at")),
        "confidence": confidence(values.get("confidence")),
        "project": _short(values.get("project"), limits.PROJECT_CHARS),
        "session_id": _short(values.get("session_id"), limits.SESSION_CHARS),
        "speaker": _short(values.get("speaker"), limits.SPEAKER_CHARS),
    }
    kept, lost = _besides(
        record, {taken[name] for name, value in understood.items() if value not in _NOTHING and name in taken}
    )
    project = understood["project"]
    yield from chunker.chunks(
        identity or title or first_words(content),
        "\n\n".join(part for part in (title, content, lost) if part),
        type=understood["type"] or by_words(title, mapped.otherwise),
        scope=Scope.PROJECT if project else Scope.SHARED,
        project=project,
        tags=tags(*understood["tags"]),
        confidence=mapped.confidence if understood["confidence"] is None else understood["confidence"],
        occurred_at=understood["occurred_at"] or chunker.changed,
        session_id=understood["session_id"],
        speaker=understood["speaker"],
        details={"record": kept} if kept else {},
    )


def _besides(record: Mapping[str, Any], used: set[str]) -> tuple[dict[str, Any], str]:
    """Return fields that are not used as metadata, and those too large for it as text."""
    besides = {name: value for name, value in record.items() if name not in used and value not in _NOTHING}
    kept, short = that_fit(besides)
    for name in short:
        kept.pop(name, None)
    return kept, "\n".join(f"{name}: {json_safe(besides[name])}" for name in short)


def when(value: Any) -> datetime | None:
    """Parse a time: ISO 8601, or seconds or milliseconds since 1970. UTC if it has no time zone."""
    if isinstance(value, str | int) and _DAY.fullmatch(day := f"{value}".strip()):
        value = f"{day}T00"  # 20260504 as seconds would be in 1970
    try:
        if isinstance(value, str) and not value.strip().replace(".", "", 1).isdigit():
            moment = datetime.fromisoformat(value.strip())
            return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            seconds = float(value)
            return datetime.fromtimestamp(seconds / 1000 if seconds > _SECONDS else seconds, UTC)
    except (ValueError, OverflowError, OSError):
        pass
    return None


def confidence(value: Any) -> float | None:
    """A number from 0 to 1, else None."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) and 0 <= number <= 1 else None


def _key(record: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    by_name = {name.strip().lower(): name for name in record}
    keys = (name if name in record else by_name.get(name.lower(), name) for name in names)
    return next((key for key in keys if _value(record, key) not in _NOTHING), None)


def _value(record: Mapping[str, Any], key: str) -> Any:
    """A field, or a nested field if the name has dots."""
    if key in record:
        return record[key]
    part_value: Any = record
    for part in key.split("."):
        part_value = part_value.get(part) if isinstance(part_value, Mapping) else None
    return part_value


def _text(value: Any) -> str:
    match value:
        case str():
            return value
        case bool() | None:
            return ""
        case int() | float():
            return str(value)
        case list():
            return "\n".join(filter(None, map(_text, value)))
    return ""


def _short(value: Any, limit: int) -> str:
    """A name; '' if it is too long to be one."""
    text = line(_text(value))
    return text if len(text) <= limit else ""


def _words(value: Any) -> list[str]:
    """Tags; none if the value can't be a list of them."""
    if isinstance(value, str):
        value = value.replace(";", ",").split(",")
    if not isinstance(value, list) or not all(isinstance(item, str | int | float) for item in value):
        return []
    words = [word for item in value if (word := line(str(item)).removeprefix("#"))]
    return words if len(words) <= _TAGS and all(len(word) <= limits.TAG_CHARS for word in words) else []
