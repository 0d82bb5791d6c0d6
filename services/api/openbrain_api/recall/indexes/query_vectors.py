"""Vectors of recent queries."""

import asyncio
from array import array
from collections.abc import Mapping, Sequence

from openbrain.domain.caches import Lru
from openbrain.domain.errors import NeverRetry
from openbrain.ports.models import Embedder

Vectors = Mapping[str, "array[float]"]
IDLE_S = 60.0
"""How long they are kept while no question comes."""


class QueryVectors:
    """Embeds each query once while it is among the last `size` of its model, and while questions come."""

    def __init__(self, size: int, idle_s: float = IDLE_S) -> None:
        self._idle_s = idle_s
        self._idle: asyncio.TimerHandle | None = None
        self._known: Lru[tuple[str, str], array[float]] = Lru(size)

    async def vectors(self, queries: Sequence[str], embedder: Embedder, model: str) -> Vectors:
        """The unit vector of each query by the embedder, whose identity has the key `model`; those that can't be
        embedded are absent, and where that is so of all, it raises why."""
        vectors_by_query: dict[str, array[float]] = {}
        for query in queries:
            known = self._known.recent((model, query))
            if known is not None:
                vectors_by_query[query] = known
        missing = [query for query in dict.fromkeys(queries) if query not in vectors_by_query]
        if missing:
            fresh = await self._embedded(missing, embedder, alone=not vectors_by_query)
            vectors_by_query |= fresh
            self._known.update({(model, query): vector for query, vector in fresh.items()})
        self._stay()
        return vectors_by_query

    async def _embedded(self, queries: Sequence[str], embedder: Embedder, *, alone: bool) -> Vectors:
        """In one call; where the model refuses one of them, in halves, so that it hurts no other."""
        try:
            return dict(zip(queries, await embedder.embed_queries(queries), strict=True))
        except NeverRetry:
            if len(queries) == 1:
                if alone:
                    raise
                return {}
        half = len(queries) // 2
        parts = [await self._embedded(part, embedder, alone=False) for part in (queries[:half], queries[half:])]
        return {**parts[0], **parts[1]}

    def _stay(self) -> None:
        # A process that is asked nothing learns of no erasure.
        if self._idle is not None:
            self._idle.cancel()
        self._idle = asyncio.get_running_loop().call_later(self._idle_s, self.forget_all)

    def forget_all(self) -> None:
        """Something was erased: a question may have quoted it."""
        self._known.clear()
