"""Rows to be written to an index again."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, and_, func, or_, select, true

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.engine.statements import chunks
from openbrain.adapters.sql.memories.conditions import LIVING
from openbrain.adapters.sql.outbox import relay
from openbrain.adapters.sql.schema.tables import memories
from openbrain.ports.generations import IndexKind
from openbrain.ports.reindexing import Extent, Listed, Measured

_COLUMNS = [memories.c[name] for name in ("id", "workspace_id", "version", "revision")]


class SqlReindexing:
    """`ports.reindexing.Reindexing`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def count_extent(self, extent: Extent) -> int:
        """As in the port."""
        query = select(func.count()).select_from(memories).where(_within(extent))
        return await self._database.read(lambda connection: connection.scalar(query) or 0)

    async def measure_extent(self, extent: Extent) -> Measured:
        """As in the port; one statement, so that both are of the same rows."""
        query = select(func.count(), func.coalesce(func.max(memories.c.created_at), 0)).where(_within(extent))

        def measured(connection: Connection) -> Measured:
            rows, newest = connection.execute(query).one()
            return Measured(rows, newest + 1)

        return await self._database.read(measured)

    async def list_extent(self, extent: Extent, after: str, limit: int) -> Sequence[Listed]:
        """As in the port."""
        return await self._database.read(lambda connection: listed(connection, extent, after, limit))

    async def count_failed(self, extent: Extent) -> int:
        """As in the port."""
        within = and_(_within(extent), _failed(extent.kind))
        query = select(func.count()).select_from(memories).where(within)
        return await self._database.read(lambda connection: connection.scalar(query) or 0)

    async def failed_of(self, kind: IndexKind, ids: Sequence[str]) -> frozenset[str]:
        """As in the port."""

        def failed(connection: Connection) -> frozenset[str]:
            return frozenset(
                memory_id
                for some in chunks(ids)
                for memory_id in connection.scalars(select(memories.c.id).where(memories.c.id.in_(some), _failed(kind)))
            )

        return await self._database.read(failed)

    async def announce(self, entries: Sequence[tuple[str, bytes]]) -> None:
        """As in the port."""
        await self._database.write(lambda connection: relay.append(connection, entries))


def listed(connection: Connection, extent: Extent, after: str, limit: int) -> list[Listed]:
    """The next rows: those of a workspace as they were made, for only so an index gives them in an order; all by id."""
    rows = memories.c
    order = (rows.created_at, rows.id) if extent.workspace_id else (rows.id,)
    behind = _made_after(connection, after) if extent.workspace_id else rows.id > after
    query = select(*_COLUMNS).where(behind, _within(extent)).order_by(*order).limit(limit)
    return [Listed(*row) for row in connection.execute(query)]


def _made_after(connection: Connection, after: str) -> ColumnElement[bool]:
    rows = memories.c
    at = connection.scalar(select(rows.created_at).where(rows.id == after)) if after else None
    if at is None:
        # At the beginning; or the row has gone, which it does only with its whole workspace.
        return true()
    # The first bound is implied by the second; it lets a database start in the middle of the index.
    return and_(rows.created_at >= at, or_(rows.created_at > at, rows.id > after))


def _failed(kind: IndexKind) -> ColumnElement[bool]:
    return memories.c[f"{kind.value}_error_revision"] == memories.c.revision


def _within(extent: Extent) -> ColumnElement[bool]:
    rows = memories.c
    asked: list[ColumnElement[bool]] = [LIVING]
    asked += [rows.wants_vector] if extent.kind is IndexKind.VECTOR else []
    asked += [rows.workspace_id == extent.workspace_id] if extent.workspace_id else []
    asked += [rows.org == extent.org] if extent.org else []
    asked += [rows.project == extent.project] if extent.project else []
    asked += [rows.updated_at >= extent.since] if extent.since else []
    asked += [rows.created_at < extent.until] if extent.until else []
    asked += [rows[f"{extent.kind.value}_revision"] != rows.revision] if extent.stale else []
    return and_(*asked)
