"""Candidates held against the truth: what it no longer holds, or no longer shows, is dropped."""

from collections.abc import Callable, Mapping, Sequence

from openbrain.domain.memory import Memory
from openbrain.ports.store.memories import Memories
from openbrain_api.recall.boost import boosted
from openbrain_api.recall.fuse import Scores
from openbrain_api.recall.order import RankedMemory, bucket
from openbrain_api.recall.question import Question

SPARE = 3
"""Rows read above what is wanted, for the dead."""


class Candidates:
    """What one question found, best first, and how much of it stands.

    Rows are wanted best first, until there are enough and the bucket of the last one is whole: rows beyond it can't
    come before it. That is one part where hardly any is dead. Where scores depend on the rows all are wanted.
    """

    def __init__(
        self, scores: Scores, question: Question, *, sees: Callable[[Memory], bool], now: int, width: float
    ) -> None:
        self.verified: list[RankedMemory] = []
        self.dropped = False
        """Whether any did not stand."""
        self._scores, self._question, self._sees, self._now, self._width = scores, question, sees, now, width
        self._ranked = [
            memory_id for _, memory_id in sorted((-score, memory_id) for memory_id, score in scores.items())
        ]
        self._start, self._end = 0, self._first_part()

    def wanted(self) -> Sequence[str]:
        """The ids whose rows decide next; none: it is decided."""
        if self._start >= len(self._ranked) or self._enough():
            return ()
        return self._ranked[self._start : self._end]

    def verify(self, rows: Mapping[str, Memory]) -> None:
        """Against the rows of those wanted."""
        part = self._ranked[self._start : self._end]
        alive = [row for memory_id in part if (row := rows.get(memory_id)) and row.alive(self._now) and self._sees(row)]
        self.dropped = self.dropped or len(alive) < len(part)
        self.verified += [RankedMemory(memory, self._score(memory)) for memory in alive]
        self._start, self._end = self._end, self._end + SPARE + self._question.top_k

    def _first_part(self) -> int:
        """How many candidates matter where none is dead: those wanted, and the rest of the last one's bucket."""
        ranked, wanted = self._ranked, self._question.top_k
        if len(ranked) <= wanted or self._question.reads_content:
            return len(ranked)
        last = self._bucket(ranked[wanted - 1])
        beyond = (at for at in range(wanted, len(ranked)) if self._bucket(ranked[at]) > last)
        return SPARE + next(beyond, len(ranked))

    def _bucket(self, memory_id: str) -> int:
        return bucket(self._scores[self._ranked[0]], self._scores[memory_id], self._width)

    def _score(self, memory: Memory) -> float:
        score = self._scores[memory.id]
        return boosted(score, memory, self._question) if self._question.reads_content else score

    def _enough(self) -> bool:
        verified, wanted, width = self.verified, self._question.top_k, self._width
        if len(verified) < wanted:
            return False
        top, following = verified[0].score, self._scores[self._ranked[self._start]]
        return bucket(top, following, width) > bucket(top, verified[wanted - 1].score, width)


async def verify(questions: Sequence[Candidates], memories: Memories) -> None:
    """Hold all of them against the truth, in as few reads as the one that needs most."""
    while True:
        wanted = [(candidates, ids) for candidates in questions if (ids := candidates.wanted())]
        if not wanted:
            return
        rows = await memories.rows(list(dict.fromkeys(memory_id for _, ids in wanted for memory_id in ids)))
        for candidates, _ in wanted:
            candidates.verify(rows)
