"""Verify candidates with the database: drop those that are gone or not visible."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice

from openbrain.domain.memory import Memory, Reason
from openbrain.ports.store.memories import Memories
from openbrain_api.recall.boost import boosted
from openbrain_api.recall.comparing.time_words import TimeSpan, nearness
from openbrain_api.recall.fuse import Scores
from openbrain_api.recall.hits.echoes import Folding
from openbrain_api.recall.order import RankedMemory, bucket
from openbrain_api.recall.question import Question

SPARE = 3
"""Rows read beyond those wanted, to make up for dropped ones."""
MOST_HEADS = 20
"""Most superseded memories per read whose successors are looked up."""
LONGEST = 50


class Candidates:
    """The candidates of one question, best first, and their verified part.

    Rows are read best first, until there are enough and the bucket of the last one is complete: rows beyond it can't
    rank before it. One part is enough if few are dropped. If scores depend on the rows, all are read. Memories of
    another project than asked for lose `margin`, those near one of `times` gain up to `time_lift`; with `folding`,
    echoes don't count. `beyond`: number of verified ones needed beyond `top_k`.
    """

    def __init__(
        self,
        scores: Scores,
        question: Question,
        *,
        sees: Callable[[Memory], bool],
        now: int,
        width: float,
        margin: float = 0.0,
        times: Sequence[TimeSpan] = (),
        time_lift: float = 0.0,
        beyond: int = 0,
        folding: Folding | None = None,
    ) -> None:
        self.verified: list[RankedMemory] = []
        self.dropped = False
        """True if any candidate was dropped."""
        self._margin = margin if question.criteria.project else 0.0
        self._times, self._time_lift = times, time_lift
        self._wanted = question.top_k + beyond
        self._folding = folding
        self._seen: set[str] = set()
        self._distinct_of: tuple[int, Sequence[RankedMemory]] = 0, ()
        """Cache: a number of verified ones, and those of them that are not echoes."""
        self._scores, self._question, self._sees, self._now, self._width = scores, question, sees, now, width
        self._ranked = [
            memory_id for _, memory_id in sorted((-score, memory_id) for memory_id, score in scores.items())
        ]
        self._start, self._end = 0, self._first_part()

    def wanted(self) -> Sequence[str]:
        """The ids whose rows are needed next; none if enough are verified."""
        if self._start >= len(self._ranked) or self._enough():
            return ()
        return self._ranked[self._start : self._end]

    def verify(self, rows: Mapping[str, Memory], heads: Mapping[str, Memory]) -> None:
        """Verify the wanted candidates with their rows. A superseded one is replaced by its head."""
        part = self._ranked[self._start : self._end]
        for memory_id in part:
            memory = self._current(rows.get(memory_id), heads)
            if memory is None or memory.id in self._seen:
                self.dropped = True
            else:
                self._seen.add(memory.id)
                self.verified.append(RankedMemory(memory, self._score(memory, self._scores[memory_id])))
        self._start, self._end = self._end, self._end + SPARE + self._wanted

    def without_echoes(self, hits: Sequence[RankedMemory]) -> Sequence[RankedMemory]:
        """The hits without echoes, in the same order."""
        return hits if self._folding is None else self._folding.fold(hits)

    def lacking(self) -> bool:
        """True if there are too few, and some candidates were dropped or are echoes."""
        new = self._distinct()
        return len(new) < self._question.top_k and (self.dropped or len(new) < len(self.verified))

    def _distinct(self) -> Sequence[RankedMemory]:
        count = len(self.verified)
        if self._distinct_of[0] != count:
            best = sorted(self.verified, key=lambda hit: (-hit.score, hit.memory.id))
            self._distinct_of = count, self.without_echoes(best)
        return self._distinct_of[1]

    def _current(self, row: Memory | None, heads: Mapping[str, Memory]) -> Memory | None:
        if row is None or not self._sees(row):
            return None
        head = heads.get(row.id, row)
        return head if head.alive(self._now) and (head is row or self._sees(head)) else None

    def _first_part(self) -> int:
        """Size of the first part: the wanted ones, the rest of the last one's bucket, and `SPARE`."""
        ranked, wanted = self._ranked, self._wanted
        if len(ranked) <= wanted or self._question.reads_content or self._times:
            return len(ranked)
        last = self._bucket(self._scores[ranked[wanted - 1]] - self._margin)
        beyond = (at for at in range(wanted, len(ranked)) if self._bucket(self._scores[ranked[at]]) > last)
        return SPARE + next(beyond, len(ranked))

    def _bucket(self, score: float) -> int:
        return bucket(self._scores[self._ranked[0]], score, self._width)

    def _score(self, memory: Memory, score: float) -> float:
        score = boosted(score, memory, self._question) if self._question.reads_content else score
        score += self._time_lift * nearness(self._times, memory.occurred_at)
        return score if memory.project == self._question.criteria.project else max(0.0, score - self._margin)

    def _enough(self) -> bool:
        wanted, width = self._wanted, self._width
        distinct = self._distinct() if len(self.verified) >= wanted else ()
        if len(distinct) < wanted:
            return False
        top, following = distinct[0].score, self._scores[self._ranked[self._start]]
        return bucket(top, following, width) > bucket(top, distinct[wanted - 1].score, width)


async def verify(questions: Sequence[Candidates], memories: Memories) -> None:
    """Verify the candidates of all questions, with as many reads as the question that needs most."""
    while True:
        wanted = [(candidates, ids) for candidates in questions if (ids := candidates.wanted())]
        if not wanted:
            return
        rows = await memories.rows(list(dict.fromkeys(memory_id for _, ids in wanted for memory_id in ids)))
        heads = await read_heads(rows.values(), memories)
        for candidates, _ in wanted:
            candidates.verify(rows, heads)


async def read_heads(rows: Iterable[Memory], memories: Memories) -> Mapping[str, Memory]:
    """For superseded rows, which a lagging index still returns: the last memory of the chain by their ids, active or
    not."""
    superseded = list(islice((row.id for row in rows if row.reason is Reason.SUPERSEDED), MOST_HEADS))
    if not superseded:
        return {}
    chains = await asyncio.gather(*(memories.ancestry(item, LONGEST) for item in superseded))
    last = {old: chain.children[-1] for old, chain in zip(superseded, chains, strict=True) if chain.children}
    heads = await memories.rows(sorted(set(last.values())))
    return {old: heads[head] for old, head in last.items() if head in heads}
