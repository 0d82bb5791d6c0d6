"""Reconciliation with a searcher."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from tantivy import DocAddress, FieldType, Query, Searcher

from openbrain.adapters.tantivy.documents import FIELDS, memory_ids, numbers
from openbrain.domain.ids import BUCKETS, mark
from openbrain.ports.index import EntryMarks, Standing, Sum

AT_ONCE = 400
"""Entries read between two turns of the event loop: about 2 ms with the GIL."""
_SUMS = {
    "each": {
        "terms": {"field": "bucket", "size": BUCKETS, "segment_size": BUCKETS},
        "aggs": {"digests": {"sum": {"field": "digest"}}, "removed": {"terms": {"field": "tombstone"}}},
    }
}


def sums(searcher: Searcher) -> Mapping[int, Sum]:
    """Sum up by bucket."""
    by_bucket: dict[int, Sum] = {}
    for item in searcher.aggregate(Query.all_query(), _SUMS)["each"]["buckets"]:
        removed = sum(part["doc_count"] for part in item["removed"]["buckets"] if part["key"])
        by_bucket[int(item["key"])] = Sum(item["doc_count"] - removed, int(item["digests"]["value"]), removed)
    return by_bucket


def highest(searcher: Searcher) -> int:
    """Return the highest revision."""
    result = searcher.aggregate(Query.all_query(), {"highest": {"max": {"field": "revision"}}})
    return int(result["highest"]["value"] or 0)


def in_buckets(searcher: Searcher, buckets: Collection[int]) -> Iterator[list[Standing]]:
    """Yield the entries of these buckets in parts. Each part scans the column of buckets once, which is fast."""
    wide = max(1, BUCKETS * AT_ONCE // max(1, searcher.num_docs))
    for first, last in _spans(buckets, wide):
        yield standings(searcher, _places(searcher, "bucket", first, last))


def entry_marks(searcher: Searcher) -> Iterator[EntryMarks]:
    """Yield the marks of all entries in parts."""
    wide = max(1, BUCKETS * AT_ONCE // max(1, searcher.num_docs))
    for first, last in _spans(range(BUCKETS), wide):
        places = _places(searcher, "bucket", first, last)
        columns = [numbers(searcher, name, places) for name in ("bucket", "digest", "tombstone")]
        living = [mark(bucket, digest) for bucket, digest, removed in zip(*columns, strict=True) if not removed]
        tombstones = [place for place, removed in zip(places, columns[2], strict=True) if removed]
        yield EntryMarks(living, standings(searcher, tombstones) if tombstones else ())


def _spans(buckets: Collection[int], wide: int) -> Iterator[tuple[int, int]]:
    """Join neighbouring buckets into ranges of at most `wide`."""
    first = last = None
    for bucket in sorted(buckets):
        if first is not None and last is not None and (bucket > last + 1 or bucket - first >= wide):
            yield first, last
            first = bucket
        first, last = bucket if first is None else first, bucket
    if first is not None and last is not None:
        yield first, last


def old_tombstones(searcher: Searcher, before: int) -> list[str]:
    """Return the ids of tombstones from before this time."""
    places = _places(searcher, "removed_at", 1, before - 1) if before > 1 else []
    # In a text index an entry's id is its memory's id.
    return memory_ids(searcher, places)


def standings(searcher: Searcher, places: Sequence[DocAddress]) -> list[Standing]:
    """Return the stored states."""
    columns = [numbers(searcher, name, list(places)) for name in ("revision", "bucket", "digest", "tombstone")]
    return [
        Standing(id=owner, memory_id=owner, revision=revision, bucket=bucket, digest=digest, tombstone=bool(tombstone))
        for owner, revision, bucket, digest, tombstone in zip(memory_ids(searcher, places), *columns, strict=True)
    ]


def _places(searcher: Searcher, field: str, first: int, last: int) -> list[DocAddress]:
    """Return the places whose number in this field is between first and last."""
    query = Query.range_query(FIELDS, field, FieldType.Integer, lower_bound=first, upper_bound=last)
    return [place for _, place in searcher.search(query, limit=max(1, searcher.num_docs), count=False).hits]
