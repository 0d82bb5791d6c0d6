"""Vectors and token states of recent queries, and whether they are to be forgotten."""

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
"""Their lifetime while no question comes."""


class QueryEncodings:
    """Embeds each query once while it is among the last `size` of its model, and while questions come."""

    def __init__(self, size: int, idle_s: float = IDLE_S) -> None:
        self._idle_s = idle_s
        self._idle: asyncio.TimerHandle | None = None
        self._known: Lru[tuple[str, str], QueryEncoding] = Lru(size)

    async def encodings(self, queries: Sequence[str], encoder: Encoder, model: str) -> Encodings:
        """Of each query, by the encoder whose vectors' model has the key `model`; those that can't be
        embedded are absent, and where that is so of all, it raises why."""
        by_query: dict[str, QueryEncoding] = {}
        for query in queries:
            known = self._known.recent((model, query))
            if known is not None:
                by_query[query] = known
        missing = [query for query in dict.fromkeys(queries) if query not in by_query]
        if missing:
            fresh = await self._encoded(missing, encoder, alone=not by_query)
            by_query |= fresh
            self._known.update({(model, query): encoding for query, encoding in fresh.items()})
        self._stay()
        return by_query

    async def _encoded(self, queries: Sequence[str], encoder: Encoder, *, alone: bool) -> Encodings:
        """In one call; where the model refuses one of them, in halves, so that it hurts no other."""
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
        # A process that is asked nothing learns of no erasure.
        if self._idle is not None:
            self._idle.cancel()
        self._idle = asyncio.get_running_loop().call_later(self._idle_s, self.forget_all)

    def forget_all(self) -> None:
        """Something was erased: a question may have quoted it."""
        self._known.clear()


class ErasureWatch:
    """Whether something was erased, by whatever replica, read from the truth at most once a second."""

    def __init__(self, writes: MemoryWrites, clock: Clock) -> None:
        self._writes, self._clock = writes, clock
        self._known = Fresh[str](clock.now, MICROSECONDS)

    async def changed(self) -> bool:
        """True once after each erasure that came after the first question; False where the truth can't be asked."""
        if self._known.fresh:
            return False
        before, now = self._known.value, self._clock.now()
        try:
            last = self._known.set(await self._writes.last_erasure(), now)
        except TryLater:
            return False
        return before is not None and before != last
