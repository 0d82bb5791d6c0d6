"""Similarity of a memory to a question, comparable between questions; and the rule for when nothing is near.

Measured on the conversations that recall was tuned on, with questions that have an answer there and questions that have
none: see docs/decisions/recall-similarity.md.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum

from openbrain.domain.memory import Memory
from openbrain.domain.text.words import held, spoken_text
from openbrain_api.recall.order import RankedMemory

ALL_WORDS = 0.8
"""Least similarity of a memory that contains every word of the question."""
CLOSE, CLOSE_OF_ONE, CLOSE_BY_NUMBER = 0.5, 0.05, 0.1
"""The similarity that the best hit of a balanced recall needs, else nothing is found: its upper limit; its value for
one memory; and its rise per logarithm of the number compared, as more memories give more accidental nearness."""
SHARE_OF_BEST, SHARE_IF_LONG, LONG_CHARS = 0.72, 0.65, 300
"""Hits below this share of the best are left out (balanced), or below the second share if their texts are longer than
`LONG_CHARS`; turns of a session are not: a short turn may be found by its neighbours."""
FEW = 5
"""Answers with at most this many hits are not cut by `SHARE_OF_BEST`: the reader sees at a glance which one fits."""
EXACT, EXACT_WIDTH = 0.6, 0.1
"""Hits of an exact answer need this similarity, and may be at most this far behind the best."""


class Precision(StrEnum):
    """The purpose of an answer."""

    EXACT = "exact"
    BALANCED = "balanced"
    RECALL = "recall"


def similarity(words: frozenset[str], memory: Memory, near: float | None) -> float:
    """Similarity in 0..1. `near`: by token states; None: only the share of the question's words in it counts."""
    share = _share_held(words, memory)
    held = ALL_WORDS if share == 1 else 0.0
    return min(1.0, max(held, ALL_WORDS * share if near is None else near, 0.0))


def floor(compared: int) -> float:
    """The similarity that the best of `compared` memories must reach, else there is no hit."""
    return min(CLOSE, CLOSE_OF_ONE + CLOSE_BY_NUMBER * math.log(max(compared, 1)))


def close(
    hits: Sequence[RankedMemory],
    precision: Precision,
    least: float | None,
    *,
    compared: int,
    certain: bool,
    wanted: frozenset[str] = frozenset(),
) -> Sequence[RankedMemory]:
    """The hits to show, given the best of `compared` memories. `least` replaces the floors of `precision`. These floors
    don't apply unless `certain` (all indexes answered, all hits have token states), nor to the ids in `wanted`
    (memories with a name in the question, or with a keyword of the request)."""
    top = max((_known(hit) for hit in hits), default=0.0)
    if least is not None:
        return [hit for hit in hits if _known(hit) >= least]
    if not certain or precision is Precision.RECALL:
        return hits
    if precision is Precision.EXACT:
        needed = max(EXACT, top - EXACT_WIDTH)
        return [hit for hit in hits if hit.memory.id in wanted or _known(hit) >= needed]
    if top < floor(compared) and not any(hit.memory.id in wanted for hit in hits):
        return []
    if len(hits) <= FEW:
        return hits
    return [
        hit
        for hit in hits
        if hit.memory.id in wanted or hit.memory.turn is not None or _known(hit) >= _least_share(hit.memory) * top
    ]


def _least_share(memory: Memory) -> float:
    return SHARE_OF_BEST if len(memory.content) <= LONG_CHARS else SHARE_IF_LONG


def with_similarities(
    hits: Sequence[RankedMemory], words: frozenset[str], near: Mapping[str, float]
) -> list[RankedMemory]:
    return [replace(hit, similarity=similarity(words, hit.memory, near.get(hit.memory.id))) for hit in hits]


def _known(hit: RankedMemory) -> float:
    return hit.similarity or 0.0


def held_words(words: frozenset[str], memory: Memory) -> frozenset[str]:
    """The words that occur in the memory's content, names, speaker or tags."""
    return held(words, spoken_text(memory))


def _share_held(words: frozenset[str], memory: Memory) -> float:
    return len(held_words(words, memory)) / len(words) if words else 0.0
