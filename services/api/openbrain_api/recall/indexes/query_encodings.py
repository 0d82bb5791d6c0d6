"""Cache of vectors and token states of recent queries, cleared after erasures."""

import asyncio
from collections.abc import Mapping, Sequence

from openbrain.domain.caches import Fresh, Lru
from openbrain.domain.errors import NeverRetry, TryLater
from openbrain.domain.memory import MICROSECONDS
from openbrain.ports.clock import Clock
from openbrain.ports.models import QueryEncoding
from openbrain.ports.store.writes import MemoryWrites
from openbrain.usecases.indexes.encoding import Encoder

Encodings = Mapping[str, QueryEncoding]
IDLE_S = 60.0
"""Seconds without a question after which the cache is cleared."""


class QueryEncodings:
    """Embeds each query once while it is among the last `size`. Cleared after `idle_s` without questions."""

    def __init__(self, size: int, idle_s: float = IDLE_S) -> None:
        self._idle_s = idle_s
        self._idle: asyncio.TimerHandle | None = None
        self._known: Lru[tuple[str, str], QueryEncoding] = Lru(size)
        self._forgotten = 0
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
            forgotten = self._forgotten
            fresh = await self._encoded(missing, encoder, alone=not by_query)
            by_query |= fresh
            if forgotten == self._forgotten:  # else these questions may be older than an erasure
                self._known.update({(model, query): encoding for query, encoding in fresh.items()})
        self._stay()
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

    def _stay(self) -> None:
        # Erasures are noticed only with questions, so the cache must not outlive a pause.
        if self._idle is not None:
            self._idle.cancel()
        self._idle = asyncio.get_running_loop().call_later(self._idle_s, self.forget_all)

    def forget_all(self) -> None:
        """Clear the cache. Needed after an erasure: a question may have quoted the erased text."""
        self._known.clear()
        self._forgotten += 1


class ErasureWatch:
    """Notices erasures by any replica; reads the database at most once a second."""

    def __init__(self, writes: MemoryWrites, clock: Clock) -> None:
        self._writes, self._clock = writes, clock
        self._known = Fresh[str](clock.now, MICROSECONDS)

    async def changed(self) -> bool:
        """True once after each erasure since the first call; False if the database does not answer."""
        if self._known.fresh:
            return False
        before, now = self._known.value, self._clock.now()
        try:
            last = self._known.set(await self._writes.last_erasure(), now)
        except TryLater:
            return False
        return before is not None and before != last
