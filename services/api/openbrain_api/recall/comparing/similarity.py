"""Similarity of a memory to a question, comparable between questions; and when nothing is near.

Measured on the conversations that recall was tuned on, with questions that nobody can answer beside those that have an
answer: see docs/decisions/recall-similarity.md.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum

from openbrain.domain.memory import Memory
from openbrain.domain.text.words import held
from openbrain_api.recall.order import RankedMemory

ALL_WORDS = 0.8
"""Of a memory that holds every word of the question."""
CLOSE, CLOSE_OF_ONE, CLOSE_BY_NUMBER = 0.5, 0.05, 0.1
"""The similarity that the best hit of a balanced recall needs, or nothing is found: at most; of one memory; and what it
rises by with the logarithm of how many were compared, the best of which has more chances to be near by accident."""
SHARE_OF_BEST = 0.65
"""Hits below this share of the best are left out (balanced). Turns of a session are not: a short one is
found by those around it."""
FEW = 5
"""An answer of no more hits is not cut so: a person or model sees at a glance which of them is meant."""
EXACT, EXACT_WIDTH = 0.6, 0.1
"""Hits of an exact answer are so near, and not further behind the best."""


class Precision(StrEnum):
    """The purpose of an answer."""

    EXACT = "exact"
    BALANCED = "balanced"
    RECALL = "recall"


def similarity(words: frozenset[str], memory: Memory, near: float | None) -> float:
    """0..1. `near`: by token states; without any the words of the question that it holds must do."""
    share = _share_held(words, memory)
    held = ALL_WORDS if share == 1 else 0.0
    return min(1.0, max(held, ALL_WORDS * share if near is None else near, 0.0))


def floor(compared: int) -> float:
    """The similarity that the best of so many must reach; else there is no hit."""
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
    """The hits to be shown, of the best of `compared`. `least` stands for the floors of `precision`; where not all is
    known (`certain`: an index did not answer, or a memory has no token states) there are no floors but that one, nor
    for what is `wanted`: ids of memories with their name in the question, or a keyword of the request."""
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
    needed = SHARE_OF_BEST * top
    return [hit for hit in hits if hit.memory.id in wanted or hit.memory.turn is not None or _known(hit) >= needed]


def with_similarities(
    hits: Sequence[RankedMemory], words: frozenset[str], near: Mapping[str, float]
) -> list[RankedMemory]:
    """The hits, each with its similarity."""
    return [replace(hit, similarity=similarity(words, hit.memory, near.get(hit.memory.id))) for hit in hits]


def _known(hit: RankedMemory) -> float:
    return hit.similarity or 0.0


def held_words(words: frozenset[str], memory: Memory) -> frozenset[str]:
    """The words that occur in it, or in its names and tags."""
    return held(words, "\n".join((memory.content, memory.speaker or "", *memory.tags)))


def _share_held(words: frozenset[str], memory: Memory) -> float:
    return len(held_words(words, memory)) / len(words) if words else 0.0
