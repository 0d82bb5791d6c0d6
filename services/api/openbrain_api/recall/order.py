"""The order of an answer: relevance in buckets, then who it is for, how sure it still is, how new. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from openbrain.domain.memory import Memory, MemoryType, Scope, effective_confidence

_SCOPE_RANK = {scope: rank for rank, scope in enumerate(Scope)}
_ROUNDING = 1e-9
SURE_STEP = 0.05
"""Effective confidences that differ by less are equal: some hours of age don't outweigh what is more relevant."""
FINER = 10
"""Steps of a bucket, by which what is equal in all else is ordered before what is newer comes first."""


@dataclass(frozen=True, slots=True)
class RankedMemory:
    """A memory and its relevance."""

    memory: Memory
    score: float
    similarity: float | None = None
    """Of the memory and the question by themselves; filled in for an answer."""
    folded: tuple[str, ...] = ()
    """Ids of those behind it that say the same, best first."""
    spread: bool = False
    """Whether it is shown for its session, in the place of a better hit of another one."""


def bucket(top: float, score: float, width: float) -> int:
    """The bucket: widths by which `score` lies below `top`, 0 for the best."""
    return int((top - score) / width + _ROUNDING)


def in_steps(hits: Sequence[RankedMemory], top: float, width: float) -> list[RankedMemory]:
    """The hits with scores in whole widths below the top one, as they are ordered by."""
    return [replace(hit, score=top - bucket(top, hit.score, width) * width) for hit in hits]


def ordered(
    memories: Sequence[RankedMemory], *, now: int, width: float, half_life_days: Mapping[MemoryType, float | None]
) -> list[RankedMemory]:
    """Best first. Scores less than `width` apart, measured from the top one, are ties, broken by scope (agent, project,
    shared, session), effective confidence, finer steps of the score, creation time, id. The order of
    `memories` makes no difference."""
    if not memories:
        return []
    top = max(ranked.score for ranked in memories)

    def sort_key(ranked: RankedMemory) -> tuple[int, int, int, int, int, str]:
        memory = ranked.memory
        return (
            bucket(top, ranked.score, width),
            _SCOPE_RANK[memory.memory_scope],
            -sure_step(memory, now, half_life_days),
            bucket(top, ranked.score, width / FINER),
            -memory.created_at,
            memory.id,
        )

    return sorted(memories, key=sort_key)


def sure_step(memory: Memory, now: int, half_life_days: Mapping[MemoryType, float | None]) -> int:
    """The step that its effective confidence lies in."""
    return round(effective_confidence(memory, now, half_life_days) / SURE_STEP)
