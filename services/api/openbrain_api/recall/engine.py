"""Recall: ask both indexes, fuse, hold against the truth, refill, order."""

import re
from collections.abc import Mapping

from openbrain.memory import HALF_LIFE_DAYS
from openbrain.ports.clock import Clock
from openbrain.ports.truth import Reading
from openbrain.settings import Recall
from openbrain.visibility import AllOf, visible
from openbrain_api.recall.ask import BOTH, Heard, Indexes
from openbrain_api.recall.explaining import explained
from openbrain_api.recall.fuse import Scores, fuse
from openbrain_api.recall.order import Found, ordered
from openbrain_api.recall.question import Answer, Json, Question
from openbrain_api.recall.standing import standing

MOST_CANDIDATES = 1000
REFILL = 4
_WORD = re.compile(r"\w+")
_WORDS = 32


class Recaller:
    """Answers questions from two indexes and the truth."""

    def __init__(self, *, indexes: Indexes, truth: Reading, clock: Clock, settings: Recall) -> None:
        self._indexes = indexes
        self._truth = truth
        self._clock = clock
        self._settings = settings
        self._half_life_days = {**HALF_LIFE_DAYS, **settings.half_life_days}

    async def recall(self, question: Question) -> Answer:
        """Best first, at most `top_k`. `TryLater` when the truth is down; a lost index only degrades."""
        settings, now = self._settings, self._clock.now()
        condition = visible(question.viewer, question.criteria, now)
        limit = max(settings.candidates, question.top_k)
        weight = settings.text_weight if question.text_weight is None else question.text_weight
        names = tuple(name for name in BOTH if weight != (0 if name == "text" else 1))
        while True:
            heard = await self._indexes.ask(question.query, condition, limit, names)
            if heard.text is None and heard.vectors is None:
                scores = await self._by_words(question.query, condition, limit)
            else:
                scores = fuse(heard.text, heard.vectors, weight)
            found, dropped = await standing(
                scores, question, condition=condition, now=now, width=settings.bucket_width, truth=self._truth
            )
            if len(found) >= question.top_k or not dropped or not heard.full(limit) or limit >= MOST_CANDIDATES:
                break
            limit = min(limit * REFILL, MOST_CANDIDATES)
        best = ordered(found, now=now, width=settings.bucket_width, half_life_days=self._half_life_days)
        best = best[: question.top_k]
        told = self._explained(best, heard, scores, weight, now) if question.explain else {}
        return Answer(found=tuple(best), degraded=heard.degraded, now=now, explained=told)

    def _explained(self, best: list[Found], heard: Heard, fused: Scores, weight: float, now: int) -> Mapping[str, Json]:
        return explained(
            best,
            text=heard.text,
            vectors=heard.vectors,
            fused=fused,
            text_weight=1.0 if heard.vectors is None else 0.0 if heard.text is None else weight,
            now=now,
            width=self._settings.bucket_width,
            half_life_days=self._half_life_days,
        )

    def forget_queries(self) -> None:
        """Keep no recent query."""
        self._indexes.forget_queries()

    async def _by_words(self, query: str, condition: AllOf, limit: int) -> Scores:
        words = list(dict.fromkeys(_WORD.findall(query.lower())))[:_WORDS]
        return fuse(await self._truth.keyword_hits(words, condition, limit) if words else (), None, 1.0)
