"""Recall: search both indexes, fuse, mix in late interaction, add neighbours, verify, refill, order.

A single question is a batch of one. Each step is in a separate file.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from openbrain.domain.access.visibility import AllOf, matcher, visible
from openbrain.domain.memory import HALF_LIFE_DAYS
from openbrain.domain.text.words import words_in, words_of
from openbrain.observability.metrics import RECALL_DEGRADED, RECALL_SECONDS
from openbrain.ports.clock import Clock
from openbrain.ports.index import Hit
from openbrain.ports.store.memories import Memories, Turn
from openbrain.settings import Recall
from openbrain_api.recall.boost import boosted
from openbrain_api.recall.comparing.candidate_reads import CandidateReads
from openbrain_api.recall.comparing.context import context
from openbrain_api.recall.comparing.late import Comparison, LateInteraction, Similarities, mixed
from openbrain_api.recall.comparing.similarity import Precision, close, with_similarities
from openbrain_api.recall.comparing.state_cache import StateCache
from openbrain_api.recall.comparing.time_words import TimeSpan, read_times
from openbrain_api.recall.explanation import explained
from openbrain_api.recall.fuse import Scores, fuse
from openbrain_api.recall.hits.echoes import Folding
from openbrain_api.recall.hits.sessions import spread
from openbrain_api.recall.hits.verify import Candidates, verify
from openbrain_api.recall.indexes.index_search import BOTH, HitLists, Indexes, IndexHits, IndexQuery
from openbrain_api.recall.named import lifted, named
from openbrain_api.recall.neighbours import neighbour_scores, summed
from openbrain_api.recall.order import RankedMemory, ordered, rounded_to_buckets
from openbrain_api.recall.question import Json, Match, Question, RecallResult

MOST_CANDIDATES = 1000
REFILL = 4
LEAST_COMPARED = 10
"""Least number of hits to judge whether anything is near, even if the question wants fewer."""
_WORDS = 32


@dataclass(frozen=True, slots=True)
class _Round:
    """The outcome of one question in one round."""

    hits: IndexHits
    fused: Scores
    late: Similarities
    neighbours: Scores
    names: Sequence[Hit] | None
    times: tuple[TimeSpan, ...]
    candidates: Candidates

    def short(self, limit: int) -> bool:
        """True if dropped memories or echoes left too few hits, and there may be more of them."""
        full = self.hits.full(limit) if self.hits.whole else len(self.fused) >= limit
        return full and limit < MOST_CANDIDATES and self.candidates.lacking()


class Recaller:
    """Answers questions from two indexes and the database."""

    def __init__(
        self,
        *,
        indexes: Indexes,
        memories: Memories,
        state_cache: StateCache,
        clock: Clock,
        settings: Recall,
        late: LateInteraction | None = None,
    ) -> None:
        self._indexes = indexes
        self._late = late
        self._memories = memories
        self._state_cache = state_cache
        self._clock = clock
        self._settings = settings
        self._half_life_days = {**HALF_LIFE_DAYS, **settings.half_life_days}

    async def recall(self, questions: Sequence[Question]) -> Sequence[RecallResult]:
        """Answer each question: best first, at most `top_k` memories. Raise `TryLater` if the database is down; a
        failing index only degrades the answer."""
        now = self._clock.now()
        rounds: dict[int, _Round] = {}
        limits = {
            number: max(self._settings.tuning.candidates, question.top_k) for number, question in enumerate(questions)
        }
        conditions = [visible(question.viewer, question.criteria, now) for question in questions]
        times = [await self._times(question, now) for question in questions]
        reads = CandidateReads(self._memories, self._state_cache)
        while limits:
            queries = {
                number: IndexQuery(questions[number].query, conditions[number], limit, self._names(questions[number]))
                for number, limit in limits.items()
            }
            asked = {number: questions[number] for number in queries}
            rounds |= await self._search_round(asked, queries, times, now, reads)
            limits = {
                number: min(limit * REFILL, MOST_CANDIDATES)
                for number, limit in limits.items()
                if rounds[number].short(limit)
            }
        for index in (name for item in rounds.values() for name in item.hits.degraded):
            RECALL_DEGRADED.labels(index).inc()
        best = [self._best(question, rounds[number], now) for number, question in enumerate(questions)]
        near = await self._closeness([rounds[number] for number in range(len(questions))], best, reads)
        return [
            self._answer(question, rounds[number], best[number], near[number], now)
            for number, question in enumerate(questions)
        ]

    async def _search_round(
        self,
        questions: Mapping[int, Question],
        queries: Mapping[int, IndexQuery],
        times: Sequence[tuple[TimeSpan, ...]],
        now: int,
        reads: CandidateReads,
    ) -> dict[int, _Round]:
        """Run one round of searching and ranking for all questions."""
        with RECALL_SECONDS.labels("search").time():
            names, hits = await asyncio.gather(
                self._named(questions, queries), self._searched(questions, queries, reads)
            )
        hits |= await self._only_named(questions, names)
        fused = {number: await self._scores(questions[number], queries[number], hits[number]) for number in queries}
        with RECALL_SECONDS.labels("compare").time():
            turns = await self._turns(fused, questions, queries, reads)
            late = await self._similarities(hits, fused, questions, turns, reads)
            mixes = {
                number: mixed(fused[number], late[number], self._late_weight(question))
                for number, question in questions.items()
            }
            neighbours = await self._neighbours(mixes, questions, queries, turns)
        sees = {condition: matcher(condition) for condition in {query.condition for query in queries.values()}}
        width = self._settings.tuning.bucket_width
        candidates = {
            number: Candidates(
                self._lifted(question, summed(mixes[number], neighbours[number]), names[number]),
                question,
                sees=sees[queries[number].condition],
                now=now,
                width=width,
                margin=self._settings.project_margin,
                times=times[number],
                time_lift=self._settings.time_lift,
                # Only turns are spread over sessions: without neighbouring turns no further rows are needed.
                beyond=question.top_k if neighbours[number] and self._spreads(question) else 0,
                folding=Folding() if self._folds(question) else None,
            )
            for number, question in questions.items()
        }
        with RECALL_SECONDS.labels("verify").time():
            await verify(list(candidates.values()), self._memories)
        return {
            number: _Round(
                hits[number],
                fused[number],
                late[number],
                neighbours[number],
                names[number],
                times[number],
                candidates[number],
            )
            for number in queries
        }

    async def _times(self, question: Question, now: int) -> tuple[TimeSpan, ...]:
        if not (self._settings.time_lift and question.time_words and question.match is Match.MEANING):
            return ()
        return await read_times(question.query, now if question.asked_at is None else question.asked_at)

    async def _named(
        self, questions: Mapping[int, Question], queries: Mapping[int, IndexQuery]
    ) -> Mapping[int, Sequence[Hit] | None]:
        lifts = bool(self._settings.name_lift)
        wanted = {n: query for n, query in queries.items() if lifts or questions[n].match is Match.NAMES}
        return dict.fromkeys(queries) | dict(await named(wanted, self._indexes, self._memories))

    async def _searched(
        self, questions: Mapping[int, Question], queries: Mapping[int, IndexQuery], reads: CandidateReads
    ) -> dict[int, IndexHits]:
        by_meaning = {number: query for number, query in queries.items() if questions[number].match is Match.MEANING}

        async def read_ahead(found: HitLists, model: str) -> None:
            if self._late is None:
                return
            ids = {
                number: [hit.memory_id for hit in hits]
                for number, hits in zip(by_meaning, found, strict=True)
                if hits and self._late_weight(questions[number])
            }
            await reads.states(list(dict.fromkeys(chain.from_iterable(ids.values()))), model)
            await self._turns(ids, questions, queries, reads)

        found = await self._indexes.search(list(by_meaning.values()), read_ahead) if by_meaning else ()
        return dict(zip(by_meaning, found, strict=True))

    async def _only_named(
        self, questions: Mapping[int, Question], names: Mapping[int, Sequence[Hit] | None]
    ) -> dict[int, IndexHits]:
        by_name = [number for number in questions if questions[number].match is Match.NAMES]
        hits = await self._indexes.by_names([names[item] for item in by_name])
        return dict(zip(by_name, hits, strict=True))

    def _lifted(self, question: Question, scores: Scores, names: Sequence[Hit] | None) -> Scores:
        return scores if question.match is Match.NAMES else lifted(scores, names, self._settings.name_lift)

    async def _scores(self, question: Question, query: IndexQuery, hits: IndexHits) -> Scores:
        if question.match is Match.NAMES:
            return fuse(hits.text or (), None, 1.0)
        if not hits.whole:
            return await self._by_words(query.text, query.condition, query.limit)
        return fuse(hits.text, hits.vectors, self._weight(question))

    async def _turns(
        self,
        candidates: Mapping[int, Collection[str]],
        questions: Mapping[int, Question],
        queries: Mapping[int, IndexQuery],
        reads: CandidateReads,
    ) -> Mapping[int, Mapping[str, Turn]]:
        """By question whose neighbouring turns count: its candidates that are turns."""
        return await reads.turns(
            {
                number: (list(ids), queries[number].condition)
                for number, ids in candidates.items()
                if self._counts_neighbours(questions[number])
            }
        )

    async def _similarities(
        self,
        hits: Mapping[int, IndexHits],
        fused: Mapping[int, Scores],
        questions: Mapping[int, Question],
        turns: Mapping[int, Mapping[str, Turn]],
        reads: CandidateReads,
    ) -> Mapping[int, Similarities]:
        nothing: dict[int, Similarities] = {number: {} for number in questions}
        if self._late is None:
            return nothing
        comparisons = {
            number: tokens
            for number, question in questions.items()
            if (tokens := hits[number].tokens) is not None and fused[number] and self._late_weight(question)
        }
        compared = {
            number: Comparison(tokens, list(fused[number]), context(turns.get(number, {})))
            for number, tokens in comparisons.items()
        }
        return nothing | dict(await self._late.similarities(compared, reads))

    def _counts_neighbours(self, question: Question) -> bool:
        on = self._settings.neighbours if question.neighbours is None else question.neighbours
        return on and question.match is Match.MEANING

    async def _neighbours(
        self,
        scores: Mapping[int, Scores],
        questions: Mapping[int, Question],
        queries: Mapping[int, IndexQuery],
        turns: Mapping[int, Mapping[str, Turn]],
    ) -> Mapping[int, Scores]:
        wanted = {
            number: (scores[number], question.top_k, queries[number].condition)
            for number, question in questions.items()
            if self._counts_neighbours(question)
        }
        return {number: {} for number in questions} | dict(await neighbour_scores(wanted, turns, self._memories))

    def _best(self, question: Question, last: _Round, now: int) -> list[RankedMemory]:
        width, half_life_days = self._settings.tuning.bucket_width, self._half_life_days
        ranked = ordered(last.candidates.verified, now=now, width=width, half_life_days=half_life_days)
        hits = last.candidates.without_echoes(ranked)
        chosen = spread(hits, question.top_k) if self._spreads(question) else hits
        return list(chosen[: max(question.top_k, LEAST_COMPARED)])

    async def _closeness(
        self, rounds: Sequence[_Round], best: Sequence[list[RankedMemory]], reads: CandidateReads
    ) -> Sequence[Scores]:
        """By question: similarities of its best hits that have token states. Compares those not yet compared."""
        known = [dict(item.late) for item in rounds]
        if self._late is not None:
            lacking = {
                number: Comparison(item.hits.tokens, others)
                for number, item in enumerate(rounds)
                if item.hits.tokens is not None
                and (others := [hit.memory.id for hit in best[number] if hit.memory.id not in item.late])
            }
            for number, similarities in (await self._late.similarities(lacking, reads)).items():
                known[number] |= similarities
        return [{memory_id: similarity.alone for memory_id, similarity in some.items()} for some in known]

    def _answer(
        self, question: Question, last: _Round, best: list[RankedMemory], near: Scores, now: int
    ) -> RecallResult:
        certain = not last.hits.degraded and all(hit.memory.id in near for hit in best)
        hits = with_similarities(best, words_of(question.query), near)
        precision = question.precision or Precision(self._settings.precision)
        compared = len(last.fused)
        wanted = self._wanted(question, last, best)
        near_enough = close(hits, precision, question.min_similarity, compared=compared, certain=certain, wanted=wanted)
        shown = near_enough[: question.top_k]
        top = max((hit.score for hit in last.candidates.verified), default=0.0)
        return RecallResult(
            ranked=tuple(rounded_to_buckets(shown, top, self._settings.tuning.bucket_width)),
            degraded=last.hits.degraded,
            now=now,
            nothing_close=bool(best) and not shown,
            times=last.times,
            explained=self._explained(shown, last, question, now, top) if question.explain else {},
        )

    @staticmethod
    def _wanted(question: Question, last: _Round, best: Sequence[RankedMemory]) -> frozenset[str]:
        """Ids of memories with a name in the question, or with a keyword of the request."""
        names = frozenset(hit.memory_id for hit in last.names or ())
        boosts = (hit.memory.id for hit in best if boosted(1.0, hit.memory, question) > 1)
        return names.union(boosts)

    def _weight(self, question: Question) -> float:
        return self._settings.text_weight if question.text_weight is None else question.text_weight

    def _late_weight(self, question: Question) -> float:
        return self._settings.late_weight if question.late_weight is None else question.late_weight

    def _folds(self, question: Question) -> bool:
        return self._settings.fold if question.fold is None else question.fold

    def _spreads(self, question: Question) -> bool:
        on = self._settings.spread if question.spread is None else question.spread
        return on and question.match is Match.MEANING

    def _names(self, question: Question) -> tuple[str, ...]:
        return tuple(name for name in BOTH if self._weight(question) != (0 if name == "text" else 1))

    def _explained(
        self, best: Sequence[RankedMemory], last: _Round, question: Question, now: int, top: float
    ) -> Mapping[str, Json]:
        hits, weight = last.hits, self._weight(question)
        return explained(
            best,
            text=hits.text,
            vectors=hits.vectors,
            fused=last.fused,
            late=last.late,
            late_weight=self._late_weight(question),
            neighbours=last.neighbours,
            named=frozenset(hit.memory_id for hit in last.names or ()),
            # When matching by names, these are the score itself and lift nothing.
            name_lift=0.0 if question.match is Match.NAMES else self._settings.name_lift,
            times=last.times,
            time_lift=self._settings.time_lift,
            project=question.criteria.project,
            project_margin=self._settings.project_margin,
            text_weight=1.0 if hits.vectors is None else 0.0 if hits.text is None else weight,
            now=now,
            width=self._settings.tuning.bucket_width,
            top=top,
            half_life_days=self._half_life_days,
        )

    async def _by_words(self, query: str, condition: AllOf, limit: int) -> Scores:
        words = list(dict.fromkeys(words_in(query.lower())))[:_WORDS]
        return fuse(await self._memories.keyword_hits(words, condition, limit) if words else (), None, 1.0)
