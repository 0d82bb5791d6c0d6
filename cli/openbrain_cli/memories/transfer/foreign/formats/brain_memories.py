"""The table `brain_memories` of an earlier OpenBrain: one memory per row, chains by `supersedes_id`."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from openbrain.domain.memory import MemoryType, Scope
from openbrain_cli.importers.memory_types import declared_type
from openbrain_cli.importers.records.mapping import confidence as certainty
from openbrain_cli.memories.transfer.foreign import fields
from openbrain_cli.memories.transfer.foreign.formats.format import Format
from openbrain_cli.memories.transfer.foreign.rows import Row
from openbrain_cli.memories.transfer.foreign.tables import rows_of_table

STORE = "brain_memories"
_COLUMNS = {"id", "workspace_id", "agent_id", "type", "content"}
"""Columns by which the table is recognised."""
_CONFIDENCE = 0.8
"""The earlier OpenBrain's default for a row without a value."""
_NEVER = "0000-00-00"
"""MySQL's date for none."""


def line(row: Row, _agent: str) -> Mapping[str, Any]:
    """The row as a line of an export, without its chain."""
    metadata = fields.as_object(row.get("metadata"))
    declared = fields.text(row.get("type"))
    kind = declared_type(declared)
    if kind is None and declared:
        metadata["original_type"] = declared
    confidence = certainty(row.get("confidence"))
    ended = fields.text(row.get("deleted_at")).strip()
    return {
        "id": fields.memory_id("brain-memories", row.get("id")),
        "content": fields.text(row.get("content")),
        "type": kind or MemoryType.OBSERVATION,
        "memory_scope": _scope(row),
        "org": row.get("org"),
        "project": row.get("project"),
        "agent_id": row.get("agent_id"),
        "session_id": row.get("session_id"),
        "tags": fields.as_tags(row.get("tags")),
        "metadata": metadata,
        "source": fields.text(row.get("source")) or "manual",
        "confidence": _CONFIDENCE if confidence is None else confidence,
        **fields.times(fields.moment(row.get("created_at")), fields.moment(row.get("updated_at"))),
        "expires_at": fields.moment(row.get("expires_at")),
        "deleted_at": fields.moment(row.get("deleted_at")),
        "reason": "forgotten" if ended and not ended.startswith(_NEVER) else None,
    }


def _scope(row: Row) -> Scope:
    given = fields.text(row.get("memory_scope")).strip().lower()
    if given in set(Scope) and (given != Scope.SESSION or row.get("session_id")):
        return Scope(given)
    return Scope.PROJECT if row.get("project") else Scope.SHARED


FORMAT = Format(
    name="brain-memories",
    rows_of=partial(rows_of_table, table=STORE, fits=_COLUMNS.issubset),
    line=line,
    workspace=lambda row: fields.text(row.get("workspace_id")),
    table=STORE,
)
