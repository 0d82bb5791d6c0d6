"""The table `thoughts` of the OpenBrain on PostgreSQL with pgvector: one turn or note per row."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any

from openbrain_cli.memories.transfer.foreign import fields
from openbrain_cli.memories.transfer.foreign.formats.format import Format
from openbrain_cli.memories.transfer.foreign.rows import Row
from openbrain_cli.memories.transfer.foreign.tables import rows_of_table

STORE = "thoughts"
_COLUMNS = {"id", "content", "source", "metadata"}
_NEVER = {"kind", "type", "memory", "memory_scope"}
"""A table with one of these columns is another one."""


def line(row: Row, agent: str) -> Mapping[str, Any]:
    """The row as a line. A turn that was imported or posted before is not stored again, by its identity."""
    return fields.thought(
        memory_id=fields.memory_id(STORE, row.get("id")),
        content=fields.text(row.get("content")),
        source=fields.text(row.get("source")) or "manual",
        metadata=fields.as_object(row.get("metadata")),
        agent=agent,
        created=fields.moment(row.get("created_at") or row.get("createdAt")),
        updated=fields.moment(row.get("updated_at") or row.get("updatedAt")),
    )


def _fits(columns: AbstractSet[str]) -> bool:
    timed = columns & {"created_at", "createdAt"}
    return bool(columns >= _COLUMNS and timed and not columns & _NEVER)


FORMAT = Format(
    name=STORE,
    rows_of=partial(rows_of_table, table=STORE, fits=_fits),
    line=line,
    table=STORE,
    vector_column="embedding",
    needs_agent=True,
)
