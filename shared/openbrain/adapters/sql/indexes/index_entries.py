"""The entries that an index should have, and the rows to announce to it again."""

from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import ColumnElement, Connection, and_, func, select

from openbrain.adapters.sql.engine.database import Part
from openbrain.adapters.sql.engine.statements import along, newer_than
from openbrain.adapters.sql.indexes import expected_entries
from openbrain.adapters.sql.memories.conditions import LIVING
from openbrain.adapters.sql.schema.tables import BY_AGE, memories
from openbrain.ports.index import Sum
from openbrain.ports.store.generations import Generation, IndexKind
from openbrain.ports.store.index_entries import ExpectedRow, Extent, Listed, Measured

_COLUMNS = [memories.c[name] for name in ("id", "workspace_id", "version", "revision")]


class SqlExpectedEntries(Part):
    """`ports.index_entries.ExpectedEntries`."""

    async def walk(self, after: str, limit: int) -> str | None:
        """Return the last id of the next `limit` rows, by primary key."""
        return await self._read(expected_entries.walk, after, limit)

    async def bucket_sums(self, generation: Generation, after: str, until: str) -> Mapping[int, Sum]:
        """Sum up in one statement; no rows are returned."""
        return await self._read(expected_entries.sums, generation, after, until)

    async def marks(self, generation: Generation, after: str, until: str) -> Sequence[int]:
        return await self._read(expected_entries.marks, generation, after, until)

    async def rows_in(
        self, generation: Generation, after: str, until: str, buckets: Collection[int]
    ) -> Sequence[ExpectedRow]:
        return await self._read(expected_entries.in_buckets, generation, after, until, buckets)

    async def unmarked(self, generation: Generation, after: str, until: str, limit: int) -> Sequence[ExpectedRow]:
        if not expected_entries.serves(generation):
            return ()
        return await self._read(expected_entries.behind, generation, after, until, limit)

    async def by_id(self, generation: Generation, ids: Collection[str]) -> Mapping[str, ExpectedRow]:
        return await self._read(expected_entries.by_id, generation, ids) if ids else {}

    async def count_extent(self, extent: Extent) -> int:
        return await self._scalar(select(func.count()).select_from(memories).where(within(extent))) or 0

    async def measure_extent(self, extent: Extent) -> Measured:
        """Count and newest time in one statement, so that both refer to the same rows."""
        newest = func.coalesce(func.max(memories.c.created_at), 0)
        (row,) = await self._rows(select(func.count(), newest + 1).where(within(extent)))
        return Measured(*row.values())

    async def list_extent(self, extent: Extent, after: str, limit: int) -> Sequence[Listed]:
        return await self._read(listed, extent, after, limit)


def listed(connection: Connection, extent: Extent, after: str, limit: int) -> list[Listed]:
    """Return the next rows: of a workspace by creation time, the only order that an index provides; of all by id."""
    rows = memories.c
    order = (rows.created_at, rows.id) if extent.workspace_id else (rows.id,)
    behind = _made_after(connection, after) if extent.workspace_id else rows.id > after
    query = select(*_COLUMNS).where(behind, within(extent)).order_by(*order).limit(limit)
    query = along(query, memories, BY_AGE) if extent.workspace_id else query
    return [Listed(*row) for row in connection.execute(query)]


def _made_after(connection: Connection, after: str) -> ColumnElement[bool]:
    rows = memories.c
    at = connection.scalar(select(rows.created_at).where(rows.id == after)) if after else None
    # Without a row, start at the beginning; rows are only deleted together with their workspace.
    return newer_than(None if at is None else (at, after), rows.created_at, rows.id)


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
