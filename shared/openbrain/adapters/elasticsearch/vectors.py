"""Vectors on Elasticsearch, for installations without Qdrant: graphs over float vectors, filters inside the search."""

from array import array
from collections.abc import Mapping, Sequence
from typing import Any

from openbrain.adapters.elasticsearch.connection import common_document, compiled, translated
from openbrain.adapters.elasticsearch.generations import Generations
from openbrain.adapters.indexes.entries import MOST, Passages, best_passages, same_dimensions, writable
from openbrain.domain.access.visibility import AllOf
from openbrain.ports.index import Hit, Tombstone, VectorEntry, VectorSearch

BUILDER = "elasticsearch-knn-2"
CANDIDATES = 2
"""Candidates per requested passage, with LEAST as the minimum: more improve recall and take longer."""
LEAST = 200


class ElasticsearchVectors(Generations[VectorEntry]):
    """The indexes `<index>-vectors-…`, one for each generation, behind the alias `<index>-vectors`."""

    builder = BUILDER

    def __init__(self, url: str, index: str, refresh_ms: int, verify_tls: bool, timeout_s: float) -> None:
        super().__init__(url, f"{index}-vectors", refresh_ms, verify_tls, timeout_s)
        self._dimensions: dict[str, int] = {}

    async def prepare(self, name: str, dimensions: int) -> None:
        """Create the index of this generation; `SetupError` if dimensions differ or another builder made it."""
        existing = await self._prepare(name, {"vector": _vector(dimensions)})
        same_dimensions(dimensions, int(existing["vector"]["dims"]), self.index(name))

    async def write(
        self, name: str, entries: Sequence[VectorEntry | Tombstone], *, visible: bool = True
    ) -> dict[str, Exception]:
        """Write in one bulk request for most batches; if `visible`, return after a refresh made the entries visible."""
        fit, failed = writable(entries, await self._existing_dimensions(name))
        return failed | await super().write(name, fit, visible=visible)

    async def search(self, name: str, vector: "array[float]", condition: AllOf, limit: int) -> Sequence[Hit]:
        """Return the nearest passages that match the condition, the best one of each memory. A tombstone has no
        vector."""
        return (await self.search_many(name, (VectorSearch(vector, condition, limit),)))[0]

    async def search_many(
        self,
        name: str,
        searches: Sequence[VectorSearch],
        *,
        within_s: float | None = None,  # noqa: ARG002 - the port's
    ) -> Sequence[Sequence[Hit]]:
        """Run all searches in one request."""
        for item in searches:
            same_dimensions(len(item.vector), await self._existing_dimensions(name), self.index(name))
        filters = {condition: compiled(condition) for condition in {search.condition for search in searches}}

        async def ask(wanted: Mapping[int, int]) -> Sequence[Passages]:
            queries = [
                _knn(searches[place].vector, filters[searches[place].condition], passages)
                for place, passages in wanted.items()
            ]
            # The server returns (1 + cosine) / 2.
            return [
                [(hit["fields"]["memory_id"][0], 2 * hit["_score"] - 1) for hit in hits]
                for hits in await self._hits(name, queries)
            ]

        return await best_passages(ask, [search.limit for search in searches])

    async def left_vectors(self, name: str, *, clear: bool = False) -> int:  # noqa: ARG002 - the port's
        """Return 0: a tombstone replaces the whole document."""
        return 0

    async def _existing_dimensions(self, name: str) -> int:
        if name not in self._dimensions:
            index = self.index(name)
            with translated():
                mappings = (await self._client.indices.get_mapping(index=index))[index]["mappings"]
            self._dimensions[name] = int(mappings["properties"]["vector"]["dims"])
        return self._dimensions[name]

    def _document(self, entry: VectorEntry) -> dict[str, Any]:
        return {**common_document(entry), "vector": entry.vector.tolist()}


def _knn(vector: "array[float]", within: Mapping[str, Any], passages: int) -> dict[str, Any]:
    knn = {
        "field": "vector",
        "query_vector": vector.tolist(),
        "k": passages,
        "num_candidates": min(MOST, max(LEAST, CANDIDATES * passages)),
        "filter": within,
    }
    return {"knn": knn, "size": passages}


def _vector(dimensions: int) -> dict[str, Any]:
    return {
        "type": "dense_vector",
        "dims": dimensions,
        "index": True,
        "similarity": "cosine",
        # Explicit: the default quantises, differently in each version, and scores are compared with other indexes'.
        "index_options": {"type": "hnsw", "m": 16, "ef_construction": 100},
    }
