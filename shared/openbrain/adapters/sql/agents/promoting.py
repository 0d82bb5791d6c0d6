"""Promotion of a session's memories to the project."""

from collections.abc import Sequence

from sqlalchemy import Connection, select

from openbrain.adapters.sql.engine.statements import newer_than
from openbrain.adapters.sql.memories.conditions import LIVING, of_orgs
from openbrain.adapters.sql.outbox.journal import Journal
from openbrain.adapters.sql.schema.memory_rows import MEMORY_COLUMNS, memory_from_row
from openbrain.adapters.sql.schema.tables import memories
from openbrain.adapters.sql.writes.editing import store_edit
from openbrain.domain.access.visibility import Viewer
from openbrain.domain.errors import Conflict
from openbrain.domain.memory import DAY, Change, Memory, Scope
from openbrain.ports.agents import Promoted, Session
from openbrain.ports.store.writes import Origin


def promote(
    connection: Connection,
    session: Session,
    viewer: Viewer,
    agents: Sequence[str],
    limit: int,
    origin: Origin,
    after: tuple[int, str] | None,
    now: int,
) -> Promoted:
    """Promote the next memories, in order of creation. They lose the policy's expiry, and keep one of their own."""
    rows = _next(connection, session, viewer, agents, limit, after)
    journal = Journal(now)
    done = 0
    for before in rows:
        if not before.alive(now):
            continue
        given = before._replace(
            memory_scope=Scope.PROJECT if session.project else Scope.AGENT,
            project=before.project or session.project,
            expires_at=None if before.expires_at == before.created_at + session.days * DAY else before.expires_at,
            version=before.version + 1,
            revision=before.revision + 1,
            updated_at=now,
        )
        try:
            store_edit(connection, journal, before, given)
        except Conflict:
            continue  # the project has this memory already
        journal.edited(before, given, Change.METADATA, origin)
        done += 1
    journal.write(connection)
    full = len(rows) == limit
    return Promoted(done, (rows[-1].created_at, rows[-1].id) if full else None)


def _next(
    connection: Connection,
    session: Session,
    viewer: Viewer,
    agents: Sequence[str],
    limit: int,
    after: tuple[int, str] | None,
) -> list[Memory]:
    table, place = memories.c, (memories.c.created_at, memories.c.id)
    query = (
        select(*(table[name] for name in MEMORY_COLUMNS))
        .where(table.workspace_id == session.workspace_id, table.memory_scope == Scope.SESSION.value)
        .where(table.agent_id.in_(agents), table.session_id == session.id, table.turn.is_(None), LIVING)
        .where(newer_than(after, *place), of_orgs(viewer, table.org))  # another key may have used the id in other orgs
        .order_by(*place)
        .limit(limit)
        .with_for_update()
    )
    return [memory_from_row(row) for row in connection.execute(query)]
