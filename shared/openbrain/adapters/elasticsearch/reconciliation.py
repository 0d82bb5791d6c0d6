"""Reconciliation of an Elasticsearch index: aggregations, and pages in the order of memory ids.

Aggregations include everything that `write` has returned for, even if it is not visible yet.
"""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any

from elasticsearch import AsyncElasticsearch

from openbrain.adapters.elasticsearch.connection import ask, refused, translated
from openbrain.domain.ids import BUCKETS
from openbrain.ports.index import Standing, Sum

Json = dict[str, Any]
STANDING: Any = ["memory_id", "revision", "bucket", "digest", "tombstone"]
"""The fields of a document that make a `Standing`."""
_PAGE = 2000
_SUMS: Json = {
    "each": {
        "terms": {"field": "bucket", "size": BUCKETS},
        "aggs": {"digests": {"sum": {"field": "digest"}}, "removed": {"filter": {"term": {"tombstone": True}}}},
    }
}
_HIGHEST = {"highest": {"max": {"field": "revision"}}}
_GONE = frozenset({404, 409})


async def sums(client: AsyncElasticsearch, index: str) -> Mapping[int, Sum]:
    """Sum up on the server, with one aggregation."""
    await _refresh(client, index)
    answer = await ask(client, index, size=0, aggs=_SUMS, track_total_hits=False)
    by_bucket: dict[int, Sum] = {}
    for item in answer["aggregations"]["each"]["buckets"]:
        removed = item["removed"]["doc_count"]
        # A double represents integers exactly up to 2^53: two million entries in one bucket.
        by_bucket[item["key"]] = Sum(item["doc_count"] - removed, int(item["digests"]["value"]), removed)
    return by_bucket


async def highest(client: AsyncElasticsearch, index: str) -> int:
    """Return the highest revision with one aggregation."""
    await _refresh(client, index)
    answer = await ask(client, index, size=0, aggs=_HIGHEST, track_total_hits=False)
    return int(answer["aggregations"]["highest"]["value"] or 0)


async def in_buckets(
    client: AsyncElasticsearch, index: str, buckets: Collection[int]
) -> AsyncIterator[Sequence[Standing]]:
    """Yield pages; no memory is split between two pages."""
    after: Json = {}
    while True:
        answer = await ask(
            client,
            index,
            size=_PAGE,
            query={"bool": {"filter": {"terms": {"bucket": sorted(buckets)}}}},
            sort=[{"memory_id": "asc"}],
            source=STANDING,
            track_total_hits=False,
            **after,
        )
        page = [Standing(id=hit["_id"], **hit["_source"]) for hit in answer["hits"]["hits"]]
        if len(page) < _PAGE:
            yield page
            return
        last = page[-1].memory_id
        whole = [item for item in page if item.memory_id != last] or page
        yield whole
        after = {"search_after": [whole[-1].memory_id]}


async def drop_tombstones(client: AsyncElasticsearch, index: str, before: int) -> int:
    """Delete old tombstones page by page, each only if it has not changed since it was found."""
    dropped: int = 0
    query = {"bool": {"filter": [{"term": {"tombstone": True}}, {"range": {"removed_at": {"lt": before}}}]}}
    while True:
        answer = await ask(
            client, index, size=_PAGE, query=query, source=False, seq_no_primary_term=True, track_total_hits=False
        )
        hits = answer["hits"]["hits"]
        if not hits:
            return dropped
        with translated():
            done = await client.bulk(index=index, operations=[*map(_removal, hits)], refresh="wait_for")
        deletions = [item["delete"] for item in done["items"]]
        for deletion in deletions:
            if deletion["status"] not in {200, *_GONE}:
                raise refused(deletion["status"], deletion.get("error", {}).get("type", "unknown"))
        dropped += [item["status"] for item in deletions].count(200)
        if len(hits) < _PAGE:
            return dropped


async def _refresh(client: AsyncElasticsearch, index: str) -> None:
    with translated():
        await client.indices.refresh(index=index)


def _removal(hit: Mapping[str, Any]) -> Json:
    return {"delete": {"_id": hit["_id"], "if_seq_no": hit["_seq_no"], "if_primary_term": hit["_primary_term"]}}
