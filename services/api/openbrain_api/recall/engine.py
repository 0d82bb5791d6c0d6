"""Recall: ask both indexes, fuse, hold against the truth, refill, order. One question is a batch of one."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from openbrain.domain.memory import HALF_LIFE_DAYS
from openbrain.domain.visibility import AllOf, matcher, visible
from openbrain.ports.clock import Clock
from openbrain.ports.memories import Memories
from openbrain.settings import Recall
from openbrain_api.recall.explanation import explained
from openbrain_api.recall.fuse import Scores, fuse
from openbrain_api.recall.index_search import BOTH, Ask, Heard, Indexes
from openbrain_api.recall.order import Found, ordered
from openbrain_api.recall.question import Answer, Json, Question
from openbrain_api.recall.verify import Candidates, hold

MOST_CANDIDATES = 1000
REFILL = 4
_WORD = re.compile(r"\w+")
_WORDS = 32


@dataclass(frozen=True, slots=True)
class _Judged:
    """What came of one question in one round."""

    heard: Heard
    scores: Scores
    candidates: Candidates

    def short(self, top_k: int, limit: int) -> bool:
        """Whether the dead took places that asking for more may fill."""
        few = len(self.candidates.found) < top_k and self.candidates.dropped
        return few and self.heard.full(limit) and limit < MOST_CANDIDATES


class Recaller:
    """Answers questions from two indexes and the truth."""

    def __init__(self, *, indexes: Indexes, memories: Memories, clock: Clock, settings: Recall) -> None:
        self._indexes = indexes
        self._memories = memories
        self._clock = clock
        self._settings = settings
        self._half_life_days = {**HALF_LIFE_DAYS, **settings.half_life_days}

    async def recall(self, questions: Sequence[Question]) -> Sequence[Answer]:
        """For each, best first, at most `top_k`. `TryLater` when the truth is down; a lost index only degrades."""
        now = self._clock.now()
        judged: dict[int, _Judged] = {}
        limits = {place: max(self._settings.tuning.candidates, each.top_k) for place, each in enumerate(questions)}
        conditions = [visible(each.viewer, each.criteria, now) for each in questions]
        while limits:
            asks = {
                place: Ask(questions[place].query, conditions[place], limit, self._names(questions[place]))
                for place, limit in limits.items()
            }
            judged |= await self._judge({place: questions[place] for place in asks}, asks, now)
            limits = {
                place: min(limit * REFILL, MOST_CANDIDATES)
                for place, limit in limits.items()
                if judged[place].short(questions[place].top_k, limit)
            }
        return [self._answer(each, judged[place], now) for place, each in enumerate(questions)]

    async def _judge(self, questions: Mapping[int, Question], asks: Mapping[int, Ask], now: int) -> dict[int, _Judged]:
        """One round for all of them."""
        heard = dict(zip(asks, await self._indexes.ask(list(asks.values())), strict=True))
        scores = {
            place: await self._scores(asks[place], heard[place], self._weight(questions[place])) for place in asks
        }
        sees = {condition: matcher(condition) for condition in {ask.condition for ask in asks.values()}}
        width = self._settings.tuning.bucket_width
        candidates = {
            place: Candidates(scores[place], each, sees=sees[asks[place].condition], now=now, width=width)
            for place, each in questions.items()
        }
        await hold(list(candidates.values()), self._memories)
        return {place: _Judged(heard[place], scores[place], candidates[place]) for place in asks}

    async def _scores(self, ask: Ask, heard: Heard, weight: float) -> Scores:
        if not heard.whole:
            return await self._by_words(ask.query, ask.condition, ask.limit)
        return fuse(heard.text, heard.vectors, weight)

    def _answer(self, question: Question, judged: _Judged, now: int) -> Answer:
        width, half_life_days = self._settings.tuning.bucket_width, self._half_life_days
        best = ordered(judged.candidates.found, now=now, width=width, half_life_days=half_life_days)[: question.top_k]
        told = self._explained(best, judged, self._weight(question), now) if question.explain else {}
        return Answer(found=tuple(best), degraded=judged.heard.degraded, now=now, explained=told)

    def _weight(self, question: Question) -> float:
        return self._settings.text_weight if question.text_weight is None else question.text_weight

    def _names(self, question: Question) -> tuple[str, ...]:
        weight = self._weight(question)
        return tuple(name for name in BOTH if weight != (0 if name == "text" else 1))

    def _explained(self, best: list[Found], judged: _Judged, weight: float, now: int) -> Mapping[str, Json]:
        heard = judged.heard
        return explained(
            best,
            text=heard.text,
            vectors=heard.vectors,
            fused=judged.scores,
            text_weight=1.0 if heard.vectors is None else 0.0 if heard.text is None else weight,
            now=now,
            width=self._settings.tuning.bucket_width,
            half_life_days=self._half_life_days,
        )

    def forget_queries(self) -> None:
        """Keep no recent query."""
        self._indexes.forget_queries()

    async def _by_words(self, query: str, condition: AllOf, limit: int) -> Scores:
        words = list(dict.fromkeys(_WORD.findall(query.lower())))[:_WORDS]
        return fuse(await self._memories.keyword_hits(words, condition, limit) if words else (), None, 1.0)
