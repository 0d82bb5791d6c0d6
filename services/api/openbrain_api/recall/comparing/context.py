"""The words of neighbouring turns count for a turn of a conversation as well, but less: an answer rarely repeats the
words of its question. Measurements: docs/decisions/recall-token-states.md.
"""

from collections.abc import Mapping
from typing import Final

from openbrain.ports.store.memories import Turn

WEIGHTS: Final[Mapping[int, float]] = {-2: 0.5, -1: 0.7, 1: 0.5}
"""Weight of a word in the turn at that distance."""
FULL_CHARS: Final = 300
"""Above this many characters a turn gains less from others and gives less to them, in proportion: in a long text
something is always near."""


def context(turns: Mapping[str, Turn]) -> Mapping[str, Mapping[str, float]]:
    """By memory: its neighbours among these turns, with the share at which their words count."""
    at: dict[tuple[str, int], list[str]] = {}
    for memory_id, turn in turns.items():
        at.setdefault((turn.session_id, turn.number), []).append(memory_id)
    return {
        memory_id: beside
        for memory_id, turn in turns.items()
        if (
            beside := {
                other: weight * _share(turn) * _share(turns[other])
                for distance, weight in WEIGHTS.items()
                for other in at.get((turn.session_id, turn.number + distance), ())
            }
        )
    }


def _share(turn: Turn) -> float:
    return min(1.0, FULL_CHARS / max(1, turn.chars))
