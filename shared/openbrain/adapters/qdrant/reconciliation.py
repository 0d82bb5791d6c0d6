"""Reconciliation of a Qdrant collection, and removal of vectors that tombstones should not have."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any

from qdrant_client import AsyncQdrantClient, models

from openbrain.adapters.qdrant.errors import translated
from openbrain.adapters.qdrant.filters import TOMBSTONES, VECTOR, WITH_VECTOR, removed_among
from openbrain.domain.ids import BUCKETS
from openbrain.ports.index import Standing, Sum

PAGE = 1000
"""Points of one answer to a scroll, and of one request to change some."""
LONG_S = 60
"""Of what the server counts over a whole collection; nobody waits for it."""
_STANDING = ["memory_id", "revision", "bucket", "digest"]


async def read(client: AsyncQdrantClient, collection: str, ids: Sequence[str]) -> Mapping[str, Standing]:
    """The stored states of these ids."""
    fields = models.PayloadSelectorInclude(include=_STANDING)
    with translated():
        records = await client.retrieve(collection, list(dict.fromkeys(ids)), with_payload=fields)
    return {str(record.id): _standing(record) for record in records}


async def counts(client: AsyncQdrantClient, collection: str) -> Mapping[int, Sum]:
    """Two facets: the server counts by the index of the field. Digests are not added up."""
    # Tombstones first: what comes meanwhile makes no bucket negative.
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
    """Every point's bucket and digest come here."""
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
    """By the index of the field, a page at a time."""
    within = models.FieldCondition(key="bucket", match=models.MatchAny(any=sorted(buckets)))
    async for records in _scroll(client, collection, _STANDING, models.Filter(must=[within])):
        yield [_standing(record) for record in records]


async def highest(client: AsyncQdrantClient, collection: str) -> int:
    """By the index of the field."""
    with translated():
        records, _ = await client.scroll(
            collection,
            limit=1,
            order_by=models.OrderBy(key="revision", direction=models.Direction.DESC),
            with_payload=models.PayloadSelectorInclude(include=["revision"]),
        )
    return max(((record.payload or {})["revision"] for record in records), default=0)


async def drop_tombstones(client: AsyncQdrantClient, collection: str, before: int) -> int:
    """A page at a time, so that no request takes long. What lives has no such time, and what came to live since the
    page was read is asked for it once more."""
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
    """The number of tombstones that have one."""
    with translated():
        return (await client.count(collection, count_filter=WITH_VECTOR, exact=True, timeout=LONG_S)).count


async def clear_tombstones(client: AsyncQdrantClient, collection: str) -> int:
    """Take the vectors from the tombstones that have one, a page at a time; how many those were."""
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
