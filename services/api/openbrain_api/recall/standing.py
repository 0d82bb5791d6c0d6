"""Candidates held against the truth: what it no longer holds, or no longer shows, is dropped."""

from collections.abc import Callable

from openbrain.memory import Memory
from openbrain.ports.truth import Reading
from openbrain.visibility import AllOf, matches
from openbrain_api.recall.boost import boosted
from openbrain_api.recall.fuse import Scores
from openbrain_api.recall.order import Found, bucket
from openbrain_api.recall.question import Question

SPARE = 10
"""Rows read above what is wanted, for ties at the end and for the dead."""


async def standing(
    scores: Scores, question: Question, *, condition: AllOf, now: int, width: float, truth: Reading
) -> tuple[list[Found], bool]:
    """The candidates that stand, as many as can matter for the answer, and whether any was dropped.

    Reads the rows best first, until there are enough and the bucket of the last one is whole: rows beyond it can't
    come before it. Where scores depend on the rows all are read.
    """
    ranked = [memory_id for _, memory_id in sorted((-score, memory_id) for memory_id, score in scores.items())]
    step = len(ranked) if question.reads_content else question.top_k + SPARE
    keeps = _keeper(condition, now)
    found: list[Found] = []
    dropped = False
    for start in range(0, len(ranked), max(step, 1)):
        if _enough(found, question.top_k, scores[ranked[start]], width):
            break
        part = ranked[start : start + step]
        rows = await truth.rows(part)
        alive = [rows[memory_id] for memory_id in part if memory_id in rows and keeps(rows[memory_id])]
        dropped = dropped or len(alive) < len(part)
        found += [Found(memory, _score(scores[memory.id], memory, question)) for memory in alive]
    return found, dropped


def _score(score: float, memory: Memory, question: Question) -> float:
    return boosted(score, memory, question) if question.reads_content else score


def _enough(found: list[Found], wanted: int, next_score: float, width: float) -> bool:
    if len(found) < wanted:
        return False
    top = found[0].score
    return bucket(top, next_score, width) > bucket(top, found[wanted - 1].score, width)


def _keeper(condition: AllOf, now: int) -> Callable[[Memory], bool]:
    def keeps(memory: Memory) -> bool:
        return memory.alive(now) and matches(condition, memory)

    return keeps
