"""Facts of Graphiti and Zep (edges between entities, each with its period of validity), and episodes."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from openbrain.domain.memory import MemoryType
from openbrain_cli.importers.json_safe import that_fit
from openbrain_cli.importers.records.mapping import when
from openbrain_cli.memories.transfer.foreign import fields
from openbrain_cli.memories.transfer.foreign.formats.format import Format, Reader
from openbrain_cli.memories.transfer.foreign.rows import BrokenRow, Row, Rows, record
from openbrain_cli.memories.transfer.foreign.tables import json_object, rows_of_table

NAME = "graphiti"
_EDGE = {"uuid", "fact"}
_EPISODE = {"uuid", "content", "source_description"}
_LISTS = ("edges", "facts", "episodes")
_READ = {"uuid", "fact", "content", "created_at", "valid_at", "fact_embedding", "name_embedding", "content_embedding"}


def _fits(columns: AbstractSet[str]) -> bool:
    return columns >= _EDGE or columns >= _EPISODE


def rows_of(path: Path) -> Reader | None:
    """Read records of edges or episodes: a list, one per line, or lists in an object, as the services return them."""
    if path.suffix.lower() == ".json" and (whole := json_object(path)):
        rows = [row for name in _LISTS for row in _listed(whole.get(name))]
        fit = rows and _fits(set(rows[0]) if isinstance(rows[0], dict) else set())
        return partial(_prepared, lambda: map(record, rows)) if fit else None
    records = rows_of_table(path, "", _fits)
    return None if records is None else partial(_prepared, records)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _prepared(records: Reader) -> Rows:
    for row in records():
        yield row if isinstance(row, BrokenRow) else {**row, "id": row.get("uuid")}


def line(row: Row, _agent: str) -> Mapping[str, Any]:
    """The row as a line. A fact that is no longer true counts as forgotten; its validity is in the metadata."""
    created = fields.moment(row.get("created_at"))
    began = fields.moment(row.get("valid_at")) or created
    metadata, _ = that_fit({name: value for name, value in row.items() if name not in _READ | {"id"} and value})
    ended = fields.moment(row.get("invalid_at")) or fields.moment(row.get("expired_at"))
    written = fields.fact(
        memory_id=fields.memory_id(NAME, row.get("id")),
        content=fields.text(row.get("fact") or row.get("content")),
        kind=MemoryType.FACT if row.get("fact") else MemoryType.CONTEXT,
        source=NAME,
        created=created,
        tags=fields.as_tags([row["name"]] if row.get("fact") and row.get("name") else []),
        metadata=metadata,
    )
    written["occurred_at"] = began
    if ended and _over(ended):
        written |= {"deleted_at": ended, "reason": "forgotten"}
    return written


def _over(at: str) -> bool:
    moment = when(at)
    return moment is not None and moment <= datetime.now(UTC)


FORMAT = Format(name=NAME, rows_of=rows_of, line=line)
