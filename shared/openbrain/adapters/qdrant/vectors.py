"""Vectors on a Qdrant server (1.17 or later), over REST."""

import asyncio
import math
from array import array
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from qdrant_client import AsyncQdrantClient, models

from openbrain.adapters.indexes.entries import Passages, best_passages, same_dimensions, writable
from openbrain.adapters.indexes.entry_marks import marks_of
from openbrain.adapters.qdrant import reconciliation
from openbrain.adapters.qdrant.collections import Collections
from openbrain.adapters.qdrant.errors import translated
from openbrain.adapters.qdrant.filters import VECTOR, compiled, not_higher, point, removed_among
from openbrain.domain.access.visibility import AllOf
from openbrain.domain.errors import NeverRetry
from openbrain.domain.ids import BUCKETS
from openbrain.domain.tasks import chunks
from openbrain.ports.index import EntryMarks, Failed, Hit, Scrubbed, Standing, Sum, Tombstone, VectorEntry, VectorSearch

BUILDER = "qdrant-3"
POINTS = 128
"""Points per request: about 2 MB with 768 dimensions, and some 10 ms of the event loop to encode as JSON."""

# In a quantized collection scores would only approximate the cosine, so rescore. Other collections ignore this.
_EXACT_SCORES = models.SearchParams(quantization=models.QuantizationSearchParams(rescore=True, oversampling=2.0))


class QdrantVectors(Collections):
    """Writes to collections and searches them."""

    builder = BUILDER
    at_once = 2

    def __init__(
        self,
        url: str | Callable[[], AsyncQdrantClient],
        collection: str,
        api_key: str = "",
        verify_tls: bool = True,
        timeout_s: float = 10,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """`url` like http://host:6333, or a factory of clients. Does not connect yet. `settings` for new collections,
        by Qdrant's names."""
        client = _client(url, api_key, verify_tls, timeout_s) if isinstance(url, str) else url()
        super().__init__(client, collection, settings or {})

    async def write(self, name: str, entries: Sequence[VectorEntry | Tombstone], *, visible: bool = True) -> Failed:  # noqa: ARG002 - the port's
        """Write the entries; on return the server has applied and logged them."""
        fit, failed = writable(entries, await self._existing_dimensions(name))
        for some in chunks(fit, POINTS):
            failed |= await self._upsert(self.collection(name), some)
            await asyncio.sleep(0)
        return failed

    async def _upsert(self, collection: str, entries: Sequence[VectorEntry | Tombstone]) -> dict[str, Exception]:
        """Send one request. If it is refused as a whole, retry its halves, so that one bad entry does not fail the
        others."""
        try:
            with translated():
                await self._client.batch_update_points(
                    collection, list(_operations(entries)), wait=True, ordering=models.WriteOrdering.MEDIUM
                )
        except NeverRetry as error:
            if len(entries) == 1:
                return {entries[0].id: error}
            half = len(entries) // 2
            return await self._upsert(collection, entries[:half]) | await self._upsert(collection, entries[half:])
        return {}

    async def search(self, name: str, vector: "array[float]", condition: AllOf, limit: int) -> Sequence[Hit]:
        """Return the nearest passages that match the condition, the best one of each memory."""
        return (await self.search_many(name, (VectorSearch(vector, condition, limit),)))[0]

    async def search_many(
        self, name: str, searches: Sequence[VectorSearch], *, within_s: float | None = None
    ) -> Sequence[Sequence[Hit]]:
        """Send all searches in one request. The server gets the remaining time in whole seconds."""
        collection = self.collection(name)
        ends = None if within_s is None else asyncio.get_running_loop().time() + within_s
        for search in searches:
            same_dimensions(len(search.vector), await self._existing_dimensions(name), collection)
        filters = {condition: compiled(condition) for condition in {search.condition for search in searches}}

        async def ask(wanted: Mapping[int, int]) -> Sequence[Passages]:
            requests = [
                models.QueryRequest(
                    query=searches[place].vector.tolist(),
                    using=VECTOR,
                    filter=filters[searches[place].condition],
                    params=_EXACT_SCORES,
                    limit=passages,
                    with_payload=models.PayloadSelectorInclude(include=["memory_id"]),
                )
                for place, passages in wanted.items()
            ]
            with translated():
                answers = await self._client.query_batch_points(collection, requests=requests, timeout=_left_s(ends))
            return [[((item.payload or {})["memory_id"], item.score) for item in answer.points] for answer in answers]

        return await best_passages(ask, [search.limit for search in searches])

    async def read(self, name: str, ids: Sequence[str]) -> Mapping[str, Standing]:
        """Return the stored states of these ids."""
        return await reconciliation.read(self._client, await self._standing(name), ids)

    async def sums(self, name: str, *, digests: bool = True) -> Mapping[int, Sum]:
        """Counts are computed by the server; digests need every point to be fetched."""
        add_up = reconciliation.sums if digests else reconciliation.counts
        return await add_up(self._client, await self._standing(name))

    async def in_buckets(self, name: str, buckets: Collection[int]) -> AsyncIterator[Sequence[Standing]]:
        """Yield the entries of these buckets, found by the index of the field."""
        async for page in reconciliation.in_buckets(self._client, await self._standing(name), buckets):
            yield page

    def entry_marks(self, name: str) -> AsyncIterator[EntryMarks]:
        """Yield the marks page by page."""
        return marks_of(self.in_buckets(name, range(BUCKETS)))

    async def highest(self, name: str) -> int:
        """Return the highest revision, found by the index of the field."""
        return await reconciliation.highest(self._client, await self._standing(name))

    async def drop_tombstones(self, name: str, before: int) -> int:
        """Delete old tombstones in pages."""
        return await reconciliation.drop_tombstones(self._client, await self._standing(name), before)

    async def left_vectors(self, name: str, *, clear: bool = False) -> int:
        """Count, or clear, vectors of tombstones: servers before 1.19 kept them unless they were deleted explicitly."""
        count = reconciliation.clear_tombstones if clear else reconciliation.left_vectors
        return await count(self._client, await self._standing(name))

    async def scrub(self, name: str, parts: Sequence[str] | None = None) -> Scrubbed:  # noqa: ARG002 - the port's
        """Clear vectors of tombstones. The index holds no text; its optimizer rewrites segments at its own time."""
        removed = await self.left_vectors(name, clear=True)
        left = "names and vectors of overwritten points stay in a segment until the server's optimizer rewrites it"
        return Scrubbed(
            details={
                "product": "Qdrant",
                "holds": "no text",
                "vectors_removed": removed,
                "left_to_the_operator": [left],
            }
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


def _client(url: str, api_key: str, verify_tls: bool, timeout_s: float) -> AsyncQdrantClient:
    return AsyncQdrantClient(
        url=url,
        api_key=api_key or None,
        timeout=math.ceil(timeout_s),
        verify=verify_tls and not url.startswith("http:"),  # certificates take 30 ms to load
        # The check would connect at once; `prepare` and `check` report unsupported server versions.
        check_compatibility=False,
    )


def _left_s(ends: float | None) -> int | None:
    return None if ends is None else max(1, math.ceil(ends - asyncio.get_running_loop().time()))


def _operations(
    entries: Sequence[VectorEntry | Tombstone],
) -> Iterator[models.UpsertOperation | models.DeleteVectorsOperation]:
    """Yield one conditional upsert per revision, since a condition applies to all points of an upsert. Then delete the
    vectors of tombstones: servers before 1.19 merge an upsert without a vector into the existing point."""
    for revision, same in groupby(entries, key=lambda entry: entry.revision):
        points = [point(entry) for entry in same]
        yield models.UpsertOperation(upsert=models.PointsList(points=points, update_filter=not_higher(revision)))
    if removed := [entry.id for entry in entries if isinstance(entry, Tombstone)]:
        yield models.DeleteVectorsOperation(
            delete_vectors=models.DeleteVectors(filter=removed_among(removed), vector=[VECTOR])
        )
