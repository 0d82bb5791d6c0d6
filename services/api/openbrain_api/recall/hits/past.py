"""Recall of the state at an earlier time, searched in the database: slower than an index, but exact.

Only words count, not meaning. They are compared with the memories as they were then, regardless of later edits or
deletions.
"""

import asyncio
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from openbrain.domain.access.visibility import Criteria, matcher, visible
from openbrain.domain.errors import Invalid
from openbrain.domain.memory import DAY, HALF_LIFE_DAYS, Memory
from openbrain.domain.text.words import words_of
from openbrain.ports.clock import Clock
from openbrain.ports.index import Hit
from openbrain.ports.store.memories import Past
from openbrain.settings import Recall
from openbrain_api.recall.boost import boosted
from openbrain_api.recall.comparing.similarity import Precision, close, held_words, with_similarities
from openbrain_api.recall.explanation import explained
from openbrain_api.recall.fuse import normalise
from openbrain_api.recall.hits.echoes import Folding
from openbrain_api.recall.order import RankedMemory, ordered, rounded_to_buckets
from openbrain_api.recall.question import Json, Question, RecallResult


class PastRecaller:
    """Answers questions with `as_of`."""

    def __init__(self, past: Past, clock: Clock, settings: Recall) -> None:
        self._past, self._clock, self._settings = past, clock, settings
        self._half_life_days = {**HALF_LIFE_DAYS, **settings.half_life_days}

    async def recall(self, question: Question, at: int) -> RecallResult:
        """Answer a question as of time `at`. Raise `Invalid` for a time in the future or too long ago, or if too many
        memories would have to be read."""
        now = self._clock.now()
        self._check(at, now)
        most = self._settings.tuning.degraded_scan
        criteria = question.criteria
        fixed = Criteria(since=criteria.since, until=criteria.until)
        # A memory is shown only if the viewer may see it today (here) and could see it then (in `_answer`).
        rows = await self._past.past(visible(question.viewer, fixed, now=0), at, most + 1, criteria.org)
        if len(rows) > most:
            raise Invalid("as_of", f"would search more than {most} memories: narrow it by org, since or until")
        return await asyncio.to_thread(self._answer, question, rows, at, now)

    def _check(self, at: int, now: int) -> None:
        if at > now:
            raise Invalid("as_of", "is in the future: omit it to ask about now")
        days = self._settings.tuning.as_of_days
        if at < now - days * DAY:
            raise Invalid("as_of", f"is more than {days} days ago, longer than history is kept for such questions")

    def _answer(self, question: Question, rows: Sequence[Memory], at: int, now: int) -> RecallResult:
        sees, width = matcher(visible(question.viewer, question.criteria, at)), self._settings.tuning.bucket_width
        then = {row.id: row for row in rows if row.alive(at) and sees(row)}
        hits = _by_words(words_of(question.query), then.values())
        scores = normalise(hits)
        ranked = [RankedMemory(then[item], self._score(question, then[item], score)) for item, score in scores.items()]
        best = ordered(ranked, now=at, width=width, half_life_days=self._half_life_days)
        best = with_similarities(best, words_of(question.query), {})
        precision = question.precision or Precision(self._settings.precision)
        near = close(best, precision, question.min_similarity, compared=len(then), certain=False)
        folds = self._settings.fold if question.fold is None else question.fold
        # Compared with those shown only: there may be thousands.
        shown = Folding().fold(near, question.top_k) if folds else near[: question.top_k]
        top = max((hit.score for hit in ranked), default=0.0)
        return RecallResult(
            ranked=tuple(rounded_to_buckets(shown, top, width)),
            degraded=(),
            now=now,
            nothing_close=bool(best) and not shown,
            explained=self._explained(question, shown, hits, at, top) if question.explain else {},
        )

    def _score(self, question: Question, memory: Memory, score: float) -> float:
        score = boosted(score, memory, question) if question.reads_content else score
        own = question.criteria.project in ("", memory.project)
        return score if own else max(0.0, score - self._settings.project_margin)

    def _explained(
        self, question: Question, shown: Sequence[RankedMemory], hits: Sequence[Hit], at: int, top: float
    ) -> Mapping[str, Json]:
        return explained(
            shown,
            text=hits,
            fused=normalise(hits),
            project=question.criteria.project,
            project_margin=self._settings.project_margin,
            text_weight=1.0,
            now=at,
            width=self._settings.tuning.bucket_width,
            top=top,
            half_life_days=self._half_life_days,
        )


def _by_words(words: frozenset[str], memories: Collection[Memory]) -> Sequence[Hit]:
    """Memories that contain any of the words, scored by the rarity of the words."""
    held = {memory.id: held_words(words, memory) for memory in memories}
    counts = Counter(word for some in held.values() for word in some)
    rarity = {word: math.log(1 + len(held) / count) for word, count in counts.items()}
    # Sorted, so that sums of floats are reproducible.
    return [Hit(item, sum(rarity[word] for word in sorted(some))) for item, some in held.items() if some]
