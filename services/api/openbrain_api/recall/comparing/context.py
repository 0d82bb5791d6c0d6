"""Turns beside a turn of a conversation, whose words count for it as well, but less: an answer rarely repeats the words
of its question. What was measured: docs/decisions/recall-token-states.md.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from openbrain.ports.store.memories import Turn
from openbrain_api.recall.fuse import Scores, best_of

WEIGHTS: Final[Mapping[int, float]] = {-2: 0.5, -1: 0.7, 1: 0.5}
"""Of a word of the turn at that distance."""
FULL_CHARS: Final = 300
"""A longer text counts less, in proportion, and so do its words: in much text something is always near."""
CANDIDATES: Final = 80
"""At least so many of the best candidates are looked at, or twice as many as are wanted."""


def looked_at(scores: Scores, wanted: int) -> Sequence[str]:
    """Ids of the candidates whose places in their sessions matter."""
    return best_of(scores, max(CANDIDATES, 2 * wanted))


def context(ids: Sequence[str], turns: Mapping[str, Turn]) -> Mapping[str, Mapping[str, float]]:
    """By memory of `ids` that is a turn: those of them beside it, and what share of a word of theirs counts for it."""
    own = {memory_id: turns[memory_id] for memory_id in ids if memory_id in turns}
    at: dict[tuple[str, int], list[str]] = {}
    for memory_id, turn in own.items():
        at.setdefault((turn.session_id, turn.number), []).append(memory_id)
    return {
        memory_id: beside
        for memory_id, turn in own.items()
        if (
            beside := {
                other: weight * _share(turn) * _share(own[other])
                for distance, weight in WEIGHTS.items()
                for other in at.get((turn.session_id, turn.number + distance), ())
            }
        )
    }


def _share(turn: Turn) -> float:
    return min(1.0, FULL_CHARS / max(1, turn.chars))
