"""The truth beside an index: what is due, and saying it again."""

from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import Connection, func, select

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.indexes import expected_entries
from openbrain.adapters.sql.indexes.reindexing import listed, within
from openbrain.adapters.sql.schema.tables import memories
from openbrain.ports.index import Sum
from openbrain.ports.store.generations import Generation
from openbrain.ports.store.index_entries import ExpectedRow, Extent, Listed, Measured


class SqlExpectedEntries:
    """`ports.index_entries.ExpectedEntries`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def walk(self, after: str, limit: int) -> str | None:
        """By the primary key."""
        return await self._database.read(lambda connection: expected_entries.walk(connection, after, limit))

    async def bucket_sums(self, generation: Generation, after: str, until: str) -> Mapping[int, Sum]:
        """One statement; the rows stay where they are."""
        return await self._database.read(lambda connection: expected_entries.sums(connection, generation, after, until))

    async def marks(self, generation: Generation, after: str, until: str) -> Sequence[int]:
        return await self._database.read(
            lambda connection: expected_entries.marks(connection, generation, after, until)
        )

    async def rows_in(
        self, generation: Generation, after: str, until: str, buckets: Collection[int]
    ) -> Sequence[ExpectedRow]:
        return await self._database.read(
            lambda connection: expected_entries.in_buckets(connection, generation, after, until, buckets)
        )

    async def unmarked(self, generation: Generation, after: str, until: str, limit: int) -> Sequence[ExpectedRow]:
        if not expected_entries.serves(generation):
            return ()
        return await self._database.read(
            lambda connection: expected_entries.behind(connection, generation, after, until, limit)
        )

    async def by_id(self, generation: Generation, ids: Collection[str]) -> Mapping[str, ExpectedRow]:
        if not ids:
            return {}
        return await self._database.read(lambda connection: expected_entries.by_id(connection, generation, ids))

    async def count_extent(self, extent: Extent) -> int:
        query = select(func.count()).select_from(memories).where(within(extent))
        return await self._database.read(lambda connection: connection.scalar(query) or 0)

    async def measure_extent(self, extent: Extent) -> Measured:
        """One statement, so that both are of the same rows."""
        query = select(func.count(), func.coalesce(func.max(memories.c.created_at), 0)).where(within(extent))

        def measured(connection: Connection) -> Measured:
            rows, newest = connection.execute(query).one()
            return Measured(rows, newest + 1)

        return await self._database.read(measured)

    async def list_extent(self, extent: Extent, after: str, limit: int) -> Sequence[Listed]:
        return await self._database.read(lambda connection: listed(connection, extent, after, limit))
