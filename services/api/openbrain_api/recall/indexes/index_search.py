"""Search both indexes concurrently, each with a timeout."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import structlog

from openbrain.domain.access.visibility import AllOf
from openbrain.domain.errors import OpenBrainError, SetupError, TryLater
from openbrain.ports.index import Hit, TextIndex, TextSearch, VectorIndex, VectorSearch
from openbrain.ports.models import TokenEncoder
from openbrain.ports.store.generations import IndexKind
from openbrain.usecases.indexes.encoding import Encoder
from openbrain_api.recall.comparing.late import TokenQuestion
from openbrain_api.recall.indexes.active_model import ActiveModel
from openbrain_api.recall.indexes.breaker import Breaker
from openbrain_api.recall.indexes.erasure_watch import ErasureWatch
from openbrain_api.recall.indexes.query_encodings import QueryEncodings
from openbrain_api.recall.indexes.serving import Serving

_log = structlog.get_logger(__name__)
BOTH = ("vectors", "text")
_KINDS = {"text": IndexKind.TEXT, "vectors": IndexKind.VECTOR}
QUESTIONS_PER_TIMEOUT = 10
"""Number of questions per timeout: a batch gets one timeout for each ten."""

HitLists = Sequence[Sequence[Hit] | None]
"""One list per question; None if the index gave no answer."""


@dataclass(frozen=True, slots=True)
class IndexQuery:
    """The query to the indexes for one question: at most `limit` memories from each of `names`."""

    text: str
    condition: AllOf
    limit: int
    names: tuple[str, ...] = BOTH


ReadAhead = Callable[[HitLists, str], Awaitable[None]]
"""Called with the text hits of each query and the key of the vector model, before the vector search ends."""
_SearchIndex = Callable[[Sequence[IndexQuery], float], Awaitable[HitLists]]
"""Searches an index; the float is the deadline by the loop's clock."""


@dataclass(slots=True)
class _Encoded:
    """The vector model of a search, and the token states of its questions; set while it runs."""

    model: str = ""
    """The key of the vector model; known before the questions are embedded."""
    tokens: Mapping[str, TokenQuestion] = field(default_factory=dict)
    """Token states by question."""


@dataclass(frozen=True, slots=True)
class IndexHits:
    """The hits of each index; None if it did not answer, or was not asked."""

    text: Sequence[Hit] | None
    vectors: Sequence[Hit] | None
    searched: tuple[str, ...] = BOTH
    partial: frozenset[str] = frozenset()
    """Indexes that lost their entries and are being filled again."""
    tokens: TokenQuestion | None = None
    """The question for late interaction; None without a model for token states, or if vectors were not asked."""

    @property
    def degraded(self) -> tuple[str, ...]:
        """The indexes that were asked and did not answer, or have only part of their entries."""
        return tuple(name for name in self.searched if getattr(self, name) is None or name in self.partial)

    @property
    def whole(self) -> bool:
        """True if at least one index answered from all of its entries."""
        return len(self.degraded) < len(self.searched)

    def full(self, limit: int) -> bool:
        """True if an index may have more hits."""
        return len(self.text or ()) >= limit or len(self.vectors or ()) >= limit


class Indexes:
    """Searches the two indexes."""

    def __init__(
        self,
        *,
        text: TextIndex,
        vectors: VectorIndex,
        serving: Serving,
        active_model: ActiveModel,
        erasure_watch: ErasureWatch,
        query_encodings: QueryEncodings,
        token_encoder: TokenEncoder | None = None,
        timeout_s: float,
    ) -> None:
        self._text = text
        self._vectors = vectors
        self._serving = serving
        self._active_model = active_model
        self._erasure_watch = erasure_watch
        self._token_encoder = token_encoder
        self._query_encodings = query_encodings
        self._timeout = timeout_s
        self._breakers = {name: Breaker(name) for name in BOTH}
        # A separate one: an index may answer searches by name and hang on words.
        self._names_breaker = Breaker("text")

    async def search(self, queries: Sequence[IndexQuery], read_ahead: ReadAhead) -> Sequence[IndexHits]:
        """Return the hits of each query, within the timeout."""
        encoded = _Encoded()
        async with asyncio.TaskGroup() as group:
            # Text first: it is found while the question is being embedded.
            text = group.create_task(self._in_time("text", queries, self._search_text))
            vectors = group.create_task(self._in_time("vectors", queries, partial(self._search_vectors, encoded)))
            found = await text
            if encoded.model and not vectors.done():
                with contextlib.suppress(OpenBrainError):  # what is missing is read when all hits are known
                    await read_ahead(found, encoded.model)
        lost = await self._lost()
        return [
            IndexHits(
                words, near, query.names, lost, encoded.tokens.get(query.text) if "vectors" in query.names else None
            )
            for query, words, near in zip(queries, found, vectors.result(), strict=True)
        ]

    async def named(self, queries: Mapping[int, IndexQuery], limit: int) -> Mapping[int, Sequence[str] | None]:
        """By question: memories whose names may occur in it; None if the text index did not answer."""

        async def search_named(wanted: Sequence[IndexQuery], _until: float) -> HitLists:
            name = (await self._serving.needed(IndexKind.TEXT)).name
            searches = (TextSearch(item.text, item.condition, limit) for item in wanted)
            answers = await asyncio.gather(*(self._text.named(name, search) for search in searches))
            return [[Hit(item, 1.0) for item in ids] for ids in answers]

        by_names = [replace(query, names=("text",)) for query in queries.values()]
        answers = await self._in_time("text", by_names, search_named, self._names_breaker)
        return {
            number: None if hits is None else [hit.memory_id for hit in hits]
            for number, hits in zip(queries, answers, strict=True)
        }

    async def hold_names(self, query: str, names: Sequence[Sequence[str]]) -> Sequence[bool]:
        """Test which names occur in the query, by the text index's analysis."""
        return await self._text.hold_names(query, names)

    async def by_names(self, by_question: Sequence[Sequence[Hit] | None]) -> Sequence[IndexHits]:
        """Wrap hits by names as answers of the text index alone."""
        lost = await self._lost() if by_question else frozenset()
        return [IndexHits(text=hits, vectors=None, searched=("text",), partial=lost) for hits in by_question]

    async def _lost(self) -> frozenset[str]:
        try:
            serving = {name: await self._serving.get(kind) for name, kind in _KINDS.items()}
        except TryLater:
            return frozenset()
        return frozenset(name for name, generation in serving.items() if generation is not None and generation.lost_at)

    async def _search_text(self, queries: Sequence[IndexQuery], _until: float) -> HitLists:
        generation = await self._serving.needed(IndexKind.TEXT)
        searches = [TextSearch(query.text, query.condition, query.limit) for query in queries]
        return await self._text.search_many(generation.name, searches)

    async def _search_vectors(self, encoded: "_Encoded", queries: Sequence[IndexQuery], until: float) -> HitLists:
        """Search, and set the model and the questions' token states."""
        model = await self._active_model.get()
        generation = model.generation
        encoded.model = generation.model
        await self._erasure_watch.check()
        encoder = Encoder(model.embedder, self._token_encoder)
        known = await self._query_encodings.encodings([query.text for query in queries], encoder, generation.model)
        encoded.tokens = {
            text: TokenQuestion(item.states, generation.model) for text, item in known.items() if item.states
        }
        searches = [
            VectorSearch(known[query.text].vector, query.condition, query.limit)
            for query in queries
            if query.text in known
        ]
        left_s = until - asyncio.get_running_loop().time()
        hits = iter(await self._vectors.search_many(generation.name, searches, within_s=left_s))
        return [next(hits) if query.text in known else None for query in queries]

    async def _in_time(
        self, index: str, queries: Sequence[IndexQuery], search_index: _SearchIndex, breaker: Breaker | None = None
    ) -> HitLists:
        """Search an index for the queries that want it; None if it fails, takes too long, or its breaker is open."""
        wanted = [query for query in queries if index in query.names]
        hits: HitLists = [None] * len(wanted)
        breaker = breaker or self._breakers[index]
        if wanted and breaker.allows():
            until = asyncio.get_running_loop().time() + self._timeout * -(-len(wanted) // QUESTIONS_PER_TIMEOUT)
            try:
                async with asyncio.timeout_at(until):
                    hits = await search_index(wanted, until)
                breaker.answered()
            except Exception as error:  # noqa: BLE001 - whatever an index does, the other one answers
                if isinstance(error, TimeoutError):
                    breaker.hung()
                else:
                    breaker.answered()
                reason = str(error) if isinstance(error, TryLater | SetupError) else ""
                _log.warning("api.index_did_not_answer", index=index, error=type(error).__name__, reason=reason)
        answers = iter(hits)
        return [next(answers) if index in query.names else None for query in queries]
