"""Reconciliation of a Qdrant collection, and removal of vectors that tombstones still have."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any

from qdrant_client import AsyncQdrantClient, models

from openbrain.adapters.qdrant.errors import translated
from openbrain.adapters.qdrant.filters import TOMBSTONES, VECTOR, WITH_VECTOR, removed_among
from openbrain.domain.ids import BUCKETS
from openbrain.ports.index import Standing, Sum

PAGE = 1000
"""Points per scroll response and per request that changes points."""
LONG_S = 60
"""Server timeout of counts over a whole collection, in seconds; no request of a user waits for them."""
_STANDING = ["memory_id", "revision", "bucket", "digest"]


async def read(client: AsyncQdrantClient, collection: str, ids: Sequence[str]) -> Mapping[str, Standing]:
    """Return the stored states of these ids."""
    fields = models.PayloadSelectorInclude(include=_STANDING)
    with translated():
        records = await client.retrieve(collection, list(dict.fromkeys(ids)), with_payload=fields)
    return {str(record.id): _standing(record) for record in records}


async def counts(client: AsyncQdrantClient, collection: str) -> Mapping[int, Sum]:
    """Count entries per bucket with two facets on the indexed field. Digests are not summed."""
    # Tombstones first: points added in between then make no count negative.
    removed = await _facet(client, collection, TOMBSTONES)
    every = await _facet(client, collection, None)
    return {
        bucket: Sum(max(0, count - removed.get(bucket, 0)), None, removed.get(bucket, 0))
        for bucket, count in every.items()
    }


async def _facet(client: AsyncQdrantClient, collection: str, within: models.Filter | None) -> Mapping[int, int]:
    with translated():
        facet = await client.facet(collection, "bucket", facet_filter=within, limit=BUCKETS, exact=True, timeout=LONG_S)
    return {int(hit.value): hit.count for hit in facet.hits}


async def sums(client: AsyncQdrantClient, collection: str) -> Mapping[int, Sum]:
    """Sum entries and digests per bucket; fetches bucket and digest of every point."""
    totals: dict[int, tuple[int, int, int]] = {}
    async for records in _scroll(client, collection, ["bucket", "digest"]):
        for payload in (record.payload or {} for record in records):
            entries, digests, removed = totals.get(payload["bucket"], (0, 0, 0))
            digest = payload.get("digest")
            counted = (entries, digests, removed + 1) if digest is None else (entries + 1, digests + digest, removed)
            totals[payload["bucket"]] = counted
    return {bucket: Sum(*total) for bucket, total in totals.items()}


async def in_buckets(
    client: AsyncQdrantClient, collection: str, buckets: Collection[int]
) -> AsyncIterator[Sequence[Standing]]:
    """Yield the entries of these buckets in pages, found by the index of the field."""
    within = models.FieldCondition(key="bucket", match=models.MatchAny(any=sorted(buckets)))
    async for records in _scroll(client, collection, _STANDING, models.Filter(must=[within])):
        yield [_standing(record) for record in records]


async def highest(client: AsyncQdrantClient, collection: str) -> int:
    """Return the highest revision, found by the index of the field."""
    with translated():
        records, _ = await client.scroll(
            collection,
            limit=1,
            order_by=models.OrderBy(key="revision", direction=models.Direction.DESC),
            with_payload=models.PayloadSelectorInclude(include=["revision"]),
        )
    return max(((record.payload or {})["revision"] for record in records), default=0)


async def drop_tombstones(client: AsyncQdrantClient, collection: str, before: int) -> int:
    """Delete old tombstones in pages, so that no request takes long. The delete repeats the condition on `removed_at`,
    which live entries lack: an entry that became live since the page was read is kept."""
    old = models.FieldCondition(key="removed_at", range=models.Range(lt=before))
    count = 0
    async for records in _scroll(client, collection, [], models.Filter(must=[old])):
        if records:
            ids = models.HasIdCondition(has_id=[record.id for record in records])
            selected = models.FilterSelector(filter=models.Filter(must=[ids, old]))
            with translated():
                await client.delete(collection, selected, wait=True)
        count += len(records)
    return count


async def left_vectors(client: AsyncQdrantClient, collection: str) -> int:
    """Count the tombstones that have a vector."""
    with translated():
        return (await client.count(collection, count_filter=WITH_VECTOR, exact=True, timeout=LONG_S)).count


async def clear_tombstones(client: AsyncQdrantClient, collection: str) -> int:
    """Remove the vectors of tombstones in pages; return how many had one."""
    count = 0
    async for records in _scroll(client, collection, [], WITH_VECTOR):
        if records:
            selector = models.FilterSelector(filter=removed_among([str(record.id) for record in records]))
            with translated():
                await client.delete_vectors(collection, [VECTOR], selector, wait=True)
        count += len(records)
    return count


async def _scroll(
    client: AsyncQdrantClient, collection: str, fields: list[str], within: models.Filter | None = None
) -> AsyncIterator[Sequence[models.Record]]:
    after: Any = None
    while True:
        with translated():
            records, after = await client.scroll(
                collection,
                scroll_filter=within,
                limit=PAGE,
                offset=after,
                with_payload=models.PayloadSelectorInclude(include=fields) if fields else False,
                timeout=LONG_S,
            )
        yield records
        if after is None:
            return


def _standing(record: models.Record) -> Standing:
    payload = record.payload or {}
    return Standing(
        id=str(record.id),
        memory_id=payload["memory_id"],
        revision=payload["revision"],
        bucket=payload["bucket"],
        digest=payload.get("digest", 0),
        tombstone="digest" not in payload,
    )
