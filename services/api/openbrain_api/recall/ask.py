"""Both indexes asked at once, each for as long as it may take."""

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass

import structlog

from openbrain.errors import SetupError, TryLater
from openbrain.ports.embedder import Embedder
from openbrain.ports.index import Hit, TextIndex, VectorIndex
from openbrain.ports.truth import IndexKind
from openbrain.visibility import AllOf
from openbrain_api.recall.query_vectors import QueryVectors
from openbrain_api.recall.serving import Serving

_log = structlog.get_logger(__name__)
BOTH = ("vectors", "text")


@dataclass(frozen=True, slots=True)
class Heard:
    """What each index answered; None where it did not, or was not asked."""

    text: Sequence[Hit] | None
    vectors: Sequence[Hit] | None
    asked: tuple[str, ...] = BOTH

    @property
    def degraded(self) -> tuple[str, ...]:
        """The names of those that were asked and did not answer."""
        return tuple(name for name in self.asked if getattr(self, name) is None)

    def full(self, limit: int) -> bool:
        """Whether one of them may have more to give."""
        return len(self.text or ()) >= limit or len(self.vectors or ()) >= limit


class Indexes:
    """The two indexes and what they need to be asked."""

    def __init__(
        self,
        *,
        text: TextIndex,
        vectors: VectorIndex,
        embedder: Embedder,
        serving: Serving,
        cache: int,
        timeout_s: float,
    ) -> None:
        self._text = text
        self._vectors = vectors
        self._embedder = embedder
        self._serving = serving
        self._query_vectors = QueryVectors(embedder, cache)
        self._timeout = timeout_s

    async def ask(self, query: str, condition: AllOf, limit: int, names: tuple[str, ...] = BOTH) -> Heard:
        """At most `limit` memories from each of `names`, in the time that one may take."""
        # The words first: their search goes to a thread at once, while that of embedded vectors holds the loop.
        asking = {"text": self._ask_text, "vectors": self._ask_vectors}
        asked = [name for name in asking if name in names]
        hits = await asyncio.gather(*(self._in_time(name, asking[name](query, condition, limit)) for name in asked))
        heard = dict(zip(asked, hits, strict=True))
        return Heard(heard.get("text"), heard.get("vectors"), names)

    def forget_queries(self) -> None:
        """Keep no recent query."""
        self._query_vectors.forget_all()

    async def _ask_text(self, query: str, condition: AllOf, limit: int) -> Sequence[Hit]:
        generation = await self._serving.get(IndexKind.TEXT)
        if generation is None:
            raise TryLater("no text index serves yet: start indexer-text")
        return await self._text.search(generation.name, query, condition, limit)

    async def _ask_vectors(self, query: str, condition: AllOf, limit: int) -> Sequence[Hit]:
        generation = await self._serving.get(IndexKind.VECTOR)
        if generation is None:
            raise TryLater("no vector index serves yet: start indexer-vector")
        identity = await self._embedder.identity()
        if identity.key != generation.model:
            raise SetupError(f"vectors were made by {generation.model}, queries would be by {identity.key}: reindex")
        vector = await self._query_vectors.vector(query, identity.key)
        return await self._vectors.search(generation.name, vector, condition, limit)

    async def _in_time(self, index: str, asking: Awaitable[Sequence[Hit]]) -> Sequence[Hit] | None:
        try:
            async with asyncio.timeout(self._timeout):
                return await asking
        except Exception as error:  # noqa: BLE001 - whatever an index does, the other one answers
            reason = str(error) if isinstance(error, TryLater | SetupError) else ""
            _log.warning("api.index_did_not_answer", index=index, error=type(error).__name__, reason=reason)
            return None
