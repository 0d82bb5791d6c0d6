"""Qdrant's local mode, changed to merge as servers 1.16 to 1.18 do for a point in an optimized segment: an upsert
without a vector keeps the existing one. Local mode itself replaces points, as servers do from 1.19 on."""

from array import array
from collections.abc import Sequence
from typing import Any

from qdrant_client import AsyncQdrantClient, models

from openbrain.adapters.qdrant.filters import point
from openbrain.ports.index import Tombstone, VectorEntry
from tests.support.indexes.entries import memory, tombstone, vector_entry


class Merging(AsyncQdrantClient):
    """A client in one process, in memory."""

    async def batch_update_points(
        self, collection_name: str, update_operations: Sequence[Any], *args: Any, **kwargs: Any
    ) -> list[models.UpdateResult]:
        for operation in update_operations:
            ids = [each.id for each in operation.upsert.points] if hasattr(operation, "upsert") else []
            before = await self.with_vectors(collection_name, ids)
            await super().batch_update_points(collection_name, [operation], *args, **kwargs)
            after = await self.with_vectors(collection_name, ids)
            lost = [each for each in before if before[each] and not after.get(each)]
            if kept := [models.PointVectors(id=each, vector=before[each]) for each in lost]:
                await self.update_vectors(collection_name, kept)
        return []

    async def with_vectors(self, collection: str, ids: Sequence[Any]) -> dict[Any, Any]:
        found = await self.retrieve(collection, ids, with_vectors=True)
        return {each.id: each.vector for each in found}

    async def holding(self, collection: str) -> dict[str, bool]:
        """Return every point, and whether it has a vector."""
        found, _ = await self.scroll(collection, limit=10_000, with_vectors=True)
        return {str(each.id): bool(each.vector) for each in found}


async def left_by_an_earlier_version(client: Merging, collection: str, vector: "array[float]", count: int) -> list[str]:
    """Write `count` tombstones that kept their vectors, by upserts only, and as many live entries; return the live
    ids."""
    living, gone = [memory() for _ in range(count)], [memory() for _ in range(count)]
    writes: list[list[VectorEntry | Tombstone]] = [
        [vector_entry(each, vector) for each in (*living, *gone)],
        [tombstone(each.id, revision=2) for each in gone],
    ]
    for entries in writes:
        points = models.PointsList(points=[point(each) for each in entries])
        await client.batch_update_points(collection, [models.UpsertOperation(upsert=points)])
    assert sum((await client.holding(collection)).values()) == 2 * count, "what this client merges"
    return [each.id for each in living]
