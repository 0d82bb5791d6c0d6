"""Comparison without reading every point: a Qdrant server counts by facets."""

import pytest
from qdrant_client import AsyncQdrantClient

from openbrain.adapters.qdrant.vectors import QdrantVectors
from openbrain.domain.ids import BUCKETS
from openbrain.ports.index import Sum
from tests.support.indexes.entries import direction, memory, tombstone, vector_entry
from tests.support.indexes.scripted_qdrant import Server, ok, server, vectors

__all__ = ["server", "vectors"]

pytestmark = pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection:UserWarning")
EAST = direction(1, 0, 0)
FACET = "POST /collections/ob-first/facet"


async def test_counts_come_by_two_requests_and_read_no_point(server: Server, vectors: QdrantVectors) -> None:
    def facet(body: dict[str, object]) -> tuple[int, dict[str, object]]:
        counts = {7: 2} if "filter" in body else {7: 5, 9: 1}
        return ok({"hits": [{"value": each, "count": count} for each, count in counts.items()]})

    server.answers[FACET] = facet
    assert await vectors.sums("first", digests=False) == {7: Sum(3, None, 2), 9: Sum(1, None, 0)}
    removed, every = server.bodies(FACET)
    assert every == {"key": "bucket", "limit": BUCKETS, "exact": True}
    assert removed == {
        **every,
        "filter": {"must": [{"is_empty": {"key": "workspace_id"}}, {"is_empty": {"key": "digest"}}]},
    }
    assert not [call for call in server.calls() if call.endswith("/scroll")]


async def test_counts_are_those_of_the_sums() -> None:
    index = QdrantVectors(lambda: AsyncQdrantClient(":memory:"), "ob")
    await index.prepare("first", 3)
    rows = [memory() for _ in range(30)]
    entries = [vector_entry(row, EAST)._replace(bucket=number % 5) for number, row in enumerate(rows)]
    gone = [tombstone(row.id, revision=2)._replace(bucket=number % 3) for number, row in enumerate(rows[:9])]
    await index.write("first", [*entries, *gone])
    sums, counts = await index.sums("first"), await index.sums("first", digests=False)
    assert counts == {bucket: each._replace(digests=None) for bucket, each in sums.items()}
    assert sum(each.tombstones for each in counts.values()) == 9
    await index.close()
