"""The order of an answer: relevance in buckets, then scope, effective confidence, finer relevance, age."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from openbrain.domain.memory import Memory, MemoryType, Scope, effective_confidence

_SCOPE_RANK = {scope: rank for rank, scope in enumerate(Scope)}
_ROUNDING = 1e-9
CONFIDENCE_STEP = 0.05
"""Step for comparing effective confidences: some hours of age must not outweigh relevance."""
FINE_STEPS = 10
"""Finer steps per bucket, compared before the creation time."""


@dataclass(frozen=True, slots=True)
class RankedMemory:
    """A memory and its relevance."""

    memory: Memory
    score: float
    similarity: float | None = None
    """Similarity of the memory and the question, independent of other memories; set for an answer."""
    folded: tuple[str, ...] = ()
    """Ids of lower ranked memories that say the same, best first."""
    spread: bool = False
    """True if it is shown for its session, instead of a better hit of another session."""


def bucket(top: float, score: float, width: float) -> int:
    """The bucket number: how many widths `score` is below `top`, 0 for the best."""
    return int((top - score) / width + _ROUNDING)


def rounded_to_buckets(hits: Sequence[RankedMemory], top: float, width: float) -> list[RankedMemory]:
    """The hits with scores rounded to whole widths below the top one, as used for the order."""
    return [replace(hit, score=max(0.0, top - bucket(top, hit.score, width) * width)) for hit in hits]


def ordered(
    memories: Sequence[RankedMemory], *, now: int, width: float, half_life_days: Mapping[MemoryType, float | None]
) -> list[RankedMemory]:
    """Sort best first. Scores in the same bucket of `width`, measured from the top one, are ties, broken by scope
    (agent, project, shared, session), effective confidence, finer steps of the score, creation time, id. Independent
    of the order of `memories`."""
    if not memories:
        return []
    top = max(ranked.score for ranked in memories)

    def sort_key(ranked: RankedMemory) -> tuple[int, int, int, int, int, str]:
        memory = ranked.memory
        return (
            bucket(top, ranked.score, width),
            _SCOPE_RANK[memory.memory_scope],
            -confidence_step(memory, now, half_life_days),
            bucket(top, ranked.score, width / FINE_STEPS),
            -memory.created_at,
            memory.id,
        )

    return sorted(memories, key=sort_key)


def confidence_step(memory: Memory, now: int, half_life_days: Mapping[MemoryType, float | None]) -> int:
    """The memory's effective confidence in steps of `CONFIDENCE_STEP`."""
    return round(effective_confidence(memory, now, half_life_days) / CONFIDENCE_STEP)
