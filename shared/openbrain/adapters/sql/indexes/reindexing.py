"""Rows to be written to an index again."""

from sqlalchemy import ColumnElement, Connection, and_, or_, select, true

from openbrain.adapters.sql.engine.statements import along
from openbrain.adapters.sql.memories.conditions import LIVING
from openbrain.adapters.sql.schema.tables import BY_AGE, memories
from openbrain.ports.store.generations import IndexKind
from openbrain.ports.store.index_entries import Extent, Listed

_COLUMNS = [memories.c[name] for name in ("id", "workspace_id", "version", "revision")]


def listed(connection: Connection, extent: Extent, after: str, limit: int) -> list[Listed]:
    """The next rows: those of a workspace as they were made, for only so an index gives them in an order; all by id."""
    rows = memories.c
    order = (rows.created_at, rows.id) if extent.workspace_id else (rows.id,)
    behind = _made_after(connection, after) if extent.workspace_id else rows.id > after
    query = select(*_COLUMNS).where(behind, within(extent)).order_by(*order).limit(limit)
    query = along(query, memories, BY_AGE) if extent.workspace_id else query
    return [Listed(*row) for row in connection.execute(query)]


def _made_after(connection: Connection, after: str) -> ColumnElement[bool]:
    rows = memories.c
    at = connection.scalar(select(rows.created_at).where(rows.id == after)) if after else None
    if at is None:
        # At the beginning; or the row has gone, which it does only with its whole workspace.
        return true()
    # The first bound is implied by the second; it lets a database start in the middle of the index.
    return and_(rows.created_at >= at, or_(rows.created_at > at, rows.id > after))


def failed(kind: IndexKind) -> ColumnElement[bool]:
    return memories.c[f"{kind.value}_error_revision"] == memories.c.revision


def within(extent: Extent) -> ColumnElement[bool]:
    rows = memories.c
    conditions: list[ColumnElement[bool]] = [LIVING]
    conditions += [rows.wants_vector] if extent.kind is IndexKind.VECTOR else []
    conditions += [rows.workspace_id == extent.workspace_id] if extent.workspace_id else []
    conditions += [rows.org == extent.org] if extent.org else []
    conditions += [rows.project == extent.project] if extent.project else []
    conditions += [rows.updated_at >= extent.since] if extent.since else []
    conditions += [rows.created_at < extent.until] if extent.until else []
    conditions += [rows[f"{extent.kind.value}_revision"] != rows.revision] if extent.stale else []
    return and_(*conditions)
