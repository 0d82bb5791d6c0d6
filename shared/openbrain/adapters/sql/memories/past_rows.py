"""Memories as they were at an earlier time: current rows with their later history undone."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Connection, and_, exists, func, or_, select, true

from openbrain.adapters.sql.engine.statements import among, chunks
from openbrain.adapters.sql.memories.conditions import NEWEST, compiled
from openbrain.adapters.sql.memories.rows import memory_columns, to_memories
from openbrain.adapters.sql.schema.tables import memories, memory_history
from openbrain.domain.access.visibility import Condition
from openbrain.domain.errors import Invalid
from openbrain.domain.memory import Memory, Reason, with_earlier

MOST_CHARS = 64_000_000
"""Maximum length of all texts that one question about the past reads: 3,200 for each of 20,000 memories."""
_AT_ONCE = 200
"""Memories per statement, so that little is read beyond that."""

_HIDDEN = (Reason.FORGOTTEN.value, Reason.ERASED.value)
_ENDINGS = frozenset(reason.value for reason in Reason)
_CHANGES = ("updated", "confirmed", "feedback", "restored")
"""Actions whose history lines contain the earlier values."""

Line = tuple[str, Mapping[str, Any] | None]
"""The action of a change, and the values before it; None if the line has none."""


def read_past(
    connection: Connection, condition: Condition, at: int, limit: int, org: str = "", most_chars: int = MOST_CHARS
) -> list[Memory]:
    """Return rows for `Memories.past`."""
    known = and_(memories.c.created_at <= at, func.coalesce(memories.c.reason, "").not_in(_HIDDEN))
    of_org = or_(memories.c.org == org, _moved_after(at)) if org else true()
    matching = select(memories.c.id).where(compiled(condition), known, of_org).order_by(*NEWEST)
    past: list[Memory] = []
    looked_at = 0
    # Rows that turn out not to count are made up for: fewer than `limit` must mean that there are no more.
    while ids := connection.scalars(matching.limit(limit - len(past)).offset(looked_at)).all():
        looked_at += len(ids)
        for some in chunks(ids, _AT_ONCE):
            earlier = _as_they_were(connection, some, at)
            past += [row for row in earlier if org in ("", row.org)]
            most_chars -= sum(len(row.content) for row in earlier)
            if most_chars < 0:
                raise Invalid("as_of", "would read too much text: narrow it by org, since or until")
    return past


def _as_they_were(connection: Connection, ids: Sequence[str], at: int) -> list[Memory]:
    query = select(*memory_columns(connection)).where(memories.c.id.in_(ids)).order_by(*NEWEST)
    rows = to_memories(connection, connection.execute(query))
    later = _lines_after(connection, ids, at)
    return [as_it_was(row, lines) for row in rows if _known(lines := later.get(row.id, ()))]


def _moved_after(at: int) -> ColumnElement[bool]:
    """Return the condition that the org may have changed since. Whether it did is seen when the history is undone."""
    line = memory_history.c
    moved = func.instr(line.before, '"org":') > 0
    return exists().where(line.memory_id == memories.c.id, line.at > at, moved).correlate(memories)


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
