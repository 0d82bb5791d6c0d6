"""Cache of vectors and token states of recent queries."""

from collections.abc import Mapping, Sequence

from openbrain.domain.caches import Lru
from openbrain.domain.errors import NeverRetry
from openbrain.ports.models import QueryEncoding
from openbrain.usecases.indexes.encoding import Encoder

Encodings = Mapping[str, QueryEncoding]


class QueryEncodings:
    """Embeds each query once while it is among the last `size`."""

    def __init__(self, size: int) -> None:
        self._known: Lru[tuple[str, str], QueryEncoding] = Lru(size)
        self._cleared = 0
        """How often the cache was cleared."""

    async def encodings(self, queries: Sequence[str], encoder: Encoder, model: str) -> Encodings:
        """The encoding of each query. `model`: key of the encoder's vector model. Queries that the model refuses are
        absent; only a single query's error is raised."""
        by_query: dict[str, QueryEncoding] = {}
        for query in queries:
            known = self._known.recent((model, query))
            if known is not None:
                by_query[query] = known
        missing = [query for query in dict.fromkeys(queries) if query not in by_query]
        if missing:
            cleared = self._cleared
            fresh = await self._encoded(missing, encoder, alone=not by_query)
            by_query |= fresh
            if cleared == self._cleared:  # else these questions may be older than an erasure
                self._known.update({(model, query): encoding for query, encoding in fresh.items()})
        return by_query

    async def _encoded(self, queries: Sequence[str], encoder: Encoder, *, alone: bool) -> Encodings:
        """Encode in one call; if the model refuses it, in halves, so that one bad query does not affect the others."""
        try:
            return dict(zip(queries, await encoder.queries(queries), strict=True))
        except NeverRetry:
            if len(queries) == 1:
                if alone:
                    raise
                return {}
        half = len(queries) // 2
        parts = [await self._encoded(part, encoder, alone=False) for part in (queries[:half], queries[half:])]
        return {**parts[0], **parts[1]}

    def clear(self) -> None:
        """Forget all. Needed after an erasure: a question may have quoted the erased text."""
        self._known.clear()
        self._cleared += 1
