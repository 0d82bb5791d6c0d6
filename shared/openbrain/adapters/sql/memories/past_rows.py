"""Memories as they were at an earlier time: current rows with their later history undone."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import Connection, and_, func, select

from openbrain.adapters.sql.engine.statements import among
from openbrain.adapters.sql.memories.conditions import NEWEST, compiled
from openbrain.adapters.sql.memories.rows import memory_columns, to_memories
from openbrain.adapters.sql.schema.tables import memories, memory_history
from openbrain.domain.access.visibility import Condition
from openbrain.domain.memory import Memory, Reason, with_earlier

_HIDDEN = (Reason.FORGOTTEN.value, Reason.ERASED.value)
_ENDINGS = frozenset(reason.value for reason in Reason)
_CHANGES = ("updated", "confirmed", "feedback", "restored")
"""Actions whose history lines contain the earlier values."""

Line = tuple[str, Mapping[str, Any] | None]
"""The action of a change, and the values before it; None if the line has none."""


def read_past(connection: Connection, condition: Condition, at: int, limit: int) -> list[Memory]:
    """Return rows for `Memories.past`."""
    known = and_(memories.c.created_at <= at, func.coalesce(memories.c.reason, "").not_in(_HIDDEN))
    statement = select(*memory_columns(connection)).where(compiled(condition), known).order_by(*NEWEST).limit(limit)
    rows = to_memories(connection, connection.execute(statement))
    later = _lines_after(connection, [row.id for row in rows], at)
    return [as_it_was(row, lines) for row in rows if _known(lines := later.get(row.id, ()))]


def _lines_after(connection: Connection, ids: Sequence[str], at: int) -> Mapping[str, Sequence[Line]]:
    """Return the later history lines of each memory, newest first."""
    table = memory_history.c
    lines: defaultdict[str, list[Line]] = defaultdict(list)
    query = select(table.memory_id, table.action, table.before).where(table.at > at).order_by(table.id.desc())
    for memory_id, action, before in among(connection, query, table.memory_id, ids):
        lines[memory_id].append((action, None if before is None else orjson.loads(before)))
    return lines


def _known(later: Sequence[Line]) -> bool:
    """False if the values before one of these changes were removed after their retention period."""
    return all(before is not None or action not in _CHANGES for action, before in later)


def as_it_was(memory: Memory, later: Sequence[Line]) -> Memory:
    """Return the memory as it was before these changes, which are given newest first."""
    for action, before in later:
        if action in _ENDINGS:
            memory = memory._replace(reason=None, deleted_at=None, archived_at=None)
        else:
            memory = with_earlier(memory, before or {})
    return memory
