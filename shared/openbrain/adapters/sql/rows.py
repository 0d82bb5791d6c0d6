"""A memory as a row, and back."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import orjson

from openbrain.memory import Memory, MemoryType, Reason, Scope

MEMORY_COLUMNS: tuple[str, ...] = tuple(field.name for field in fields(Memory))
"""The columns that make up a `Memory`, in the order that `memory_from_row` takes them."""

INSERT_COLUMNS: tuple[str, ...] = (*MEMORY_COLUMNS, "audience", "dedupe_key")
"""What an insert gives; the last two are derived and never read back into a memory."""

_TYPES = {each.value: each for each in MemoryType}
_SCOPES = {each.value: each for each in Scope}
_REASONS: dict[str | None, Reason | None] = {None: None} | {each.value: each for each in Reason}
_TYPE, _SCOPE, _TAGS, _METADATA, _REASON, _WANTS_VECTOR = (
    MEMORY_COLUMNS.index(name) for name in ("type", "memory_scope", "tags", "metadata", "reason", "wants_vector")
)


def memory_from_row(row: Sequence[Any]) -> Memory:
    """`row` holds `MEMORY_COLUMNS` in their order, and nothing more."""
    values = list(row)
    values[_TYPE] = _TYPES[values[_TYPE]]
    values[_SCOPE] = _SCOPES[values[_SCOPE]]
    values[_TAGS] = tuple(orjson.loads(values[_TAGS])) if values[_TAGS] != "[]" else ()
    values[_METADATA] = orjson.loads(values[_METADATA]) if values[_METADATA] != "{}" else {}
    values[_REASON] = _REASONS[values[_REASON]]
    values[_WANTS_VECTOR] = bool(values[_WANTS_VECTOR])
    return Memory(**dict(zip(MEMORY_COLUMNS, values, strict=True)))


def row_from_memory(memory: Memory, dedupe_key: str | None) -> tuple[Any, ...]:
    """The values for `INSERT_COLUMNS`."""
    values = [getattr(memory, name) for name in MEMORY_COLUMNS]
    # Plain strings: the drivers don't know our enumerations.
    values[_TYPE] = memory.type.value
    values[_SCOPE] = memory.memory_scope.value
    values[_TAGS] = json_text(memory.tags) if memory.tags else "[]"
    values[_METADATA] = json_text(memory.metadata) if memory.metadata else "{}"
    values[_REASON] = None if memory.reason is None else memory.reason.value
    values[_WANTS_VECTOR] = int(memory.wants_vector)
    return (*values, memory.audience, dedupe_key)


def json_text(value: object) -> str:
    """Compact JSON."""
    return orjson.dumps(value).decode()
