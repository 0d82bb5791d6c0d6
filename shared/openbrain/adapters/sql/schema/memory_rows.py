"""Converts a memory to a row, and back."""

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import orjson

from openbrain.adapters.sql.schema.tables import memories
from openbrain.domain.memory import Memory, MemoryType, Reason, Scope

MEMORY_COLUMNS: tuple[str, ...] = Memory._fields
"""The columns of a `Memory`, in the order that `memory_from_row` expects."""

WHOLE = [memories.c[name] for name in MEMORY_COLUMNS]
"""`MEMORY_COLUMNS` as expressions of a SELECT."""

INSERT_COLUMNS: tuple[str, ...] = tuple(str(column.name) for column in memories.columns if column.computed is None)
"""All columns that are written, in the table's order; audience and dedupe_key are derived and never read back."""

_TYPES = {item.value: item for item in MemoryType}
_SCOPES = {item.value: item for item in Scope}
_REASONS: dict[str | None, Reason | None] = {None: None} | {item.value: item for item in Reason}
_TYPE, _SCOPE, _ALIASES, _TAGS, _METADATA, _REASON, _WANTS_VECTOR = (
    MEMORY_COLUMNS.index(name)
    for name in ("type", "memory_scope", "aliases", "tags", "metadata", "reason", "wants_vector")
)
_GIVEN = attrgetter(*(name for name in INSERT_COLUMNS if name != "dedupe_key"))
_DEDUPE_KEY, _ALIASES_GIVEN, _TAGS_GIVEN, _METADATA_GIVEN = (
    INSERT_COLUMNS.index(name) for name in ("dedupe_key", "aliases", "tags", "metadata")
)


def memory_from_row(row: Sequence[Any]) -> Memory:
    """`row` contains exactly `MEMORY_COLUMNS`, in their order."""
    values = list(row)
    values[_TYPE] = _TYPES[values[_TYPE]]
    values[_SCOPE] = _SCOPES[values[_SCOPE]]
    values[_ALIASES] = tuple(orjson.loads(values[_ALIASES])) if values[_ALIASES] else ()
    values[_TAGS] = tuple(orjson.loads(values[_TAGS])) if values[_TAGS] != "[]" else ()
    values[_METADATA] = orjson.loads(values[_METADATA]) if values[_METADATA] != "{}" else {}
    values[_REASON] = _REASONS[values[_REASON]]
    values[_WANTS_VECTOR] = bool(values[_WANTS_VECTOR])
    return Memory._make(values)


def row_from_memory(memory: Memory, dedupe_key: str | None) -> tuple[Any, ...]:
    """Return the values for `INSERT_COLUMNS`; the drivers accept our string enumerations."""
    values = list(_GIVEN(memory))
    values.insert(_DEDUPE_KEY, dedupe_key)
    values[_ALIASES_GIVEN] = json_text(memory.aliases) if memory.aliases else None
    values[_TAGS_GIVEN] = json_text(memory.tags) if memory.tags else "[]"
    values[_METADATA_GIVEN] = json_text(memory.metadata) if memory.metadata else "{}"
    return tuple(values)


def columns_of(memory: Memory, dedupe_key: str | None = None) -> dict[str, Any]:
    """Return the values of a memory's row by column name."""
    return dict(zip(INSERT_COLUMNS, row_from_memory(memory, dedupe_key), strict=True))


def json_text(value: object) -> str:
    return orjson.dumps(value).decode()
