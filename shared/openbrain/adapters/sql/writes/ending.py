"""Ends memories, for any reason: recall finds them no longer."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, update

from openbrain.adapters.sql.outbox.journal import Journal
from openbrain.adapters.sql.schema.tables import memories
from openbrain.adapters.sql.writes.quotas import release
from openbrain.domain.memory import Memory, Reason
from openbrain.ports.store.writes import Origin

SYSTEM_ACTOR = Origin(actor="openbrain")
"""The author of automatic changes."""


def end(
    connection: Connection,
    journal: Journal,
    rows: Sequence[Memory],
    reason: Reason,
    origin: Origin,
    *,
    note: str = "",
    superseded_by: str | None = None,
) -> list[Memory]:
    """End rows that this transaction has locked; return them as they are now."""
    ended = close(connection, rows, reason, journal.now)
    for row in ended:
        journal.ended(row, reason, origin, note, superseded_by)
    return ended


def close(connection: Connection, rows: Sequence[Memory], reason: Reason, now: int) -> list[Memory]:
    """End memories without audit entries, which the caller writes."""
    times: dict[str, Any] = {
        "deleted_at": None if reason in (Reason.EXPIRED, Reason.ARCHIVED) else now,
        "archived_at": now if reason is Reason.ARCHIVED else None,
    }
    statement = (
        update(memories)
        .where(memories.c.id.in_([row.id for row in rows]))
        .values(reason=reason.value, **times, dedupe_key=None, revision=memories.c.revision + 1)
    )
    connection.execute(statement)
    release(connection, rows)
    return [row._replace(reason=reason, **times, revision=row.revision + 1) for row in rows]
