"""Candidates held against the truth: what it no longer holds, or no longer shows, is dropped."""

from collections.abc import Sequence

from openbrain.memory import Memory
from openbrain.ports.truth import Reading
from openbrain.visibility import AllOf, matcher
from openbrain_api.recall.boost import boosted
from openbrain_api.recall.fuse import Scores
from openbrain_api.recall.order import Found, bucket
from openbrain_api.recall.question import Question

SPARE = 3
"""Rows read above what is wanted, for the dead."""


async def standing(
    scores: Scores, question: Question, *, condition: AllOf, now: int, width: float, truth: Reading
) -> tuple[list[Found], bool]:
    """The candidates that stand, as many as can matter for the answer, and whether any was dropped.

    Reads the rows best first, until there are enough and the bucket of the last one is whole: rows beyond it can't
    come before it. That is one read where hardly any is dead. Where scores depend on the rows all are read.
    """
    ranked = [memory_id for _, memory_id in sorted((-score, memory_id) for memory_id, score in scores.items())]
    step = len(ranked) if question.reads_content else SPARE + _reach(ranked, scores, question.top_k, width)
    sees = matcher(condition)
    found: list[Found] = []
    start, dropped = 0, False
    while start < len(ranked) and not _enough(found, question.top_k, scores[ranked[start]], width):
        part = ranked[start : start + step]
        rows = await truth.rows(part)
        alive = [row for memory_id in part if (row := rows.get(memory_id)) and row.alive(now) and sees(row)]
        dropped = dropped or len(alive) < len(part)
        found += [Found(memory, _score(scores[memory.id], memory, question)) for memory in alive]
        start, step = start + step, SPARE + question.top_k
    return found, dropped


def _reach(ranked: Sequence[str], scores: Scores, wanted: int, width: float) -> int:
    """How many candidates matter where none is dead: those wanted, and the rest of the last one's bucket."""
    if len(ranked) <= wanted:
        return len(ranked)
    top = scores[ranked[0]]
    last = bucket(top, scores[ranked[wanted - 1]], width)
    return next((at for at in range(wanted, len(ranked)) if bucket(top, scores[ranked[at]], width) > last), len(ranked))


def _score(score: float, memory: Memory, question: Question) -> float:
    return boosted(score, memory, question) if question.reads_content else score


def _enough(found: list[Found], wanted: int, next_score: float, width: float) -> bool:
    if len(found) < wanted:
        return False
    top = found[0].score
    return bucket(top, next_score, width) > bucket(top, found[wanted - 1].score, width)
