"""Both indexes asked at once, each for as long as it may take."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import structlog

from openbrain.domain.errors import SetupError, TryLater
from openbrain.domain.visibility import AllOf
from openbrain.ports.generations import IndexKind
from openbrain.ports.index import Hit, TextIndex, TextSearch, VectorIndex, VectorSearch
from openbrain_api.recall.active_model import ActiveModel
from openbrain_api.recall.breaker import Breaker
from openbrain_api.recall.erasure_watch import ErasureWatch
from openbrain_api.recall.query_vectors import QueryVectors
from openbrain_api.recall.serving import Serving

_log = structlog.get_logger(__name__)
BOTH = ("vectors", "text")
_KINDS = {"text": IndexKind.TEXT, "vectors": IndexKind.VECTOR}
A_TURN = 10
"""Questions that together may take as long as one."""

Answers = Sequence[Sequence[Hit] | None]
"""One a question; None where the index had none to give."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What the indexes are asked for one question: at most `limit` memories from each of `names`."""

    query: str
    condition: AllOf
    limit: int
    names: tuple[str, ...] = BOTH


_Asking = Callable[[Sequence[Ask], float], Awaitable[Answers]]
"""Asks, and until when an answer is waited for, by the loop's clock."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What each index answered; None where it did not, or was not asked."""

    text: Sequence[Hit] | None
    vectors: Sequence[Hit] | None
    asked: tuple[str, ...] = BOTH
    partial: frozenset[str] = frozenset()
    """Those that lost what they held and are being filled again."""

    @property
    def degraded(self) -> tuple[str, ...]:
        """The names of those that were asked and did not answer, or could only answer from a part."""
        return tuple(name for name in self.asked if getattr(self, name) is None or name in self.partial)

    @property
    def whole(self) -> bool:
        """Whether at least one answered from all that it should hold."""
        return len(self.degraded) < len(self.asked)

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
        serving: Serving,
        active_model: ActiveModel,
        erasure_watch: ErasureWatch,
        cache: int,
        timeout_s: float,
    ) -> None:
        self._text = text
        self._vectors = vectors
        self._serving = serving
        self._active_model = active_model
        self._erasure_watch = erasure_watch
        self._query_vectors = QueryVectors(cache)
        self._timeout = timeout_s
        self._breakers = {name: Breaker(name) for name in BOTH}

    async def ask(self, asks: Sequence[Ask]) -> Sequence[Heard]:
        """What is heard for each, in the time that they may take."""
        # The words first: their search goes to a thread at once, while that of embedded vectors holds the loop.
        text, vectors = await asyncio.gather(
            self._in_time("text", asks, self._ask_text), self._in_time("vectors", asks, self._ask_vectors)
        )
        partial = await self._partial()
        return [Heard(*each, partial) for each in zip(text, vectors, (ask.names for ask in asks), strict=True)]

    def forget_queries(self) -> None:
        """Keep no recent query."""
        self._query_vectors.forget_all()

    async def _partial(self) -> frozenset[str]:
        try:
            serving = {name: await self._serving.get(kind) for name, kind in _KINDS.items()}
        except TryLater:
            return frozenset()
        return frozenset(name for name, each in serving.items() if each is not None and each.lost_at)

    async def _ask_text(self, asks: Sequence[Ask], _until: float) -> Answers:
        generation = await self._serving.get(IndexKind.TEXT)
        if generation is None:
            raise TryLater("no text index serves yet: start indexer-text")
        searches = [TextSearch(ask.query, ask.condition, ask.limit) for ask in asks]
        return await self._text.search_many(generation.name, searches)

    async def _ask_vectors(self, asks: Sequence[Ask], until: float) -> Answers:
        asked = await self._active_model.get()
        generation = asked.generation
        if await self._erasure_watch.changed():
            self._query_vectors.forget_all()
        known = await self._query_vectors.vectors([ask.query for ask in asks], asked.embedder, generation.model)
        searches = [VectorSearch(known[ask.query], ask.condition, ask.limit) for ask in asks if ask.query in known]
        left_s = until - asyncio.get_running_loop().time()
        found = iter(await self._vectors.search_many(generation.name, searches, within_s=left_s))
        return [next(found) if ask.query in known else None for ask in asks]

    async def _in_time(self, index: str, asks: Sequence[Ask], asking: _Asking) -> Answers:
        """Its answers to those that want it; where it fails, or takes too long, it has none. One that hung is left
        alone for a while."""
        wanting = [ask for ask in asks if index in ask.names]
        found: Answers = [None] * len(wanting)
        breaker = self._breakers[index]
        if wanting and breaker.lets():
            until = asyncio.get_running_loop().time() + self._timeout * -(-len(wanting) // A_TURN)
            try:
                async with asyncio.timeout_at(until):
                    found = await asking(wanting, until)
                breaker.answered()
            except Exception as error:  # noqa: BLE001 - whatever an index does, the other one answers
                if isinstance(error, TimeoutError):
                    breaker.hung()
                else:
                    breaker.answered()
                reason = str(error) if isinstance(error, TryLater | SetupError) else ""
                _log.warning("api.index_did_not_answer", index=index, error=type(error).__name__, reason=reason)
        answers = iter(found)
        return [next(answers) if index in ask.names else None for ask in asks]
