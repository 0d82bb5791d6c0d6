"""Records exported by other memory systems: their origin and the meaning of their fields."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from openbrain.domain.memory import MemoryType
from openbrain_cli.importers.records.mapping import GENERIC, Mapped

_HINDSIGHT_TYPES = {
    "world": MemoryType.FACT,
    "experience": MemoryType.OBSERVATION,
    "observation": MemoryType.OBSERVATION,
    "opinion": MemoryType.OBSERVATION,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """A kind of records."""

    mapped: Mapped
    fits: Callable[[Mapping[str, Any]], bool] = lambda _: True
    """True if a record is of this kind."""
    place: str = ""
    """Portable path of its memories, the same for every file because their ids are unique. '' uses the file's path."""


def _from_mem0(record: Mapping[str, Any]) -> bool:
    return isinstance(record.get("memory"), str) and {"id", "created_at"} <= record.keys()


def _from_hindsight(record: Mapping[str, Any]) -> bool:
    fact_type = record.get("fact_type") or record.get("type")
    return isinstance(record.get("text"), str) and "id" in record and fact_type in _HINDSIGHT_TYPES


EXPORTS: Mapping[str, Export] = {
    "mem0": Export(
        mapped=Mapped(
            fields={
                "content": ("memory",),
                "id": ("id",),
                "tags": ("categories",),
                "type": ("metadata.type",),
                "occurred_at": ("created_at",),
            },
            otherwise=MemoryType.FACT,
        ),
        fits=_from_mem0,
        place="mem0/memories",
    ),
    "hindsight": Export(
        mapped=Mapped(
            fields={
                "content": ("text",),
                "id": ("id",),
                "type": ("fact_type", "type"),
                "tags": ("tags",),
                "occurred_at": ("occurred_start", "date", "mentioned_at"),
            },
            types=_HINDSIGHT_TYPES,
            otherwise=MemoryType.FACT,
        ),
        fits=_from_hindsight,
        place="hindsight/memories",
    ),
    "csv": Export(mapped=GENERIC),
    "ndjson": Export(mapped=GENERIC),
}


def is_complete(envelope: Mapping[str, Any], records: int) -> bool:
    """True if the export has all records, and not only one page of them."""
    total = envelope.get("total", envelope.get("count", records))
    return not envelope.get("next") and total == records
