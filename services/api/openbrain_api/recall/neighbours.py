"""A turn is relevant where what stands beside it in its session is: neighbours add to each other's scores. Pure, but
for one read.

Weights were measured on conversations, see docs/decisions/recall-neighbours.md.
"""

import heapq
from collections import defaultdict
from collections.abc import Mapping

from openbrain.domain.visibility import Condition
from openbrain.ports.memories import Memories, Turn
from openbrain_api.recall.fuse import Scores

WEIGHTS: Mapping[int, float] = {-2: 0.3, -1: 0.6, 1: 0.3, 2: 0.15}
"""Of the score of the turn at that distance: what was said before explains more than what follows."""
FULL_CHARS = 300
"""A longer text says by itself what it is about: its neighbours count less, in proportion."""
OWNERS = 30
"""At least so many of the best candidates have their neighbours read, or twice as many as are wanted."""


async def neighbouring(scores: Scores, wanted: int, condition: Condition, memories: Memories) -> Scores:
    """What neighbours add to each, where anything; also to some that no index found, which are in reach of the
    condition. By memory."""
    owners = max(OWNERS, 2 * wanted)
    best = heapq.nlargest(owners, scores, key=lambda memory_id: (scores[memory_id], memory_id))
    return added(scores, await memories.turns(best, condition, tuple(WEIGHTS))) if best else {}


def added(scores: Scores, turns: Mapping[str, Turn]) -> Scores:
    """From the scores as they were, so that no order matters. What has no score counts 0."""
    said: defaultdict[tuple[str, int], float] = defaultdict(float)
    for memory_id, turn in turns.items():
        place = turn.session_id, turn.number
        said[place] = max(said[place], scores.get(memory_id, 0.0))
    gains = {
        memory_id: min(1.0, FULL_CHARS / max(1, turn.chars))
        * sum(weight * said.get((turn.session_id, turn.number + distance), 0.0) for distance, weight in WEIGHTS.items())
        for memory_id, turn in turns.items()
    }
    return {memory_id: gain for memory_id, gain in gains.items() if gain > 0}


def summed(scores: Scores, gains: Scores) -> Scores:
    """Both, scaled so that the best stays as high as the best was."""
    if not gains:
        return scores
    both = {memory_id: scores.get(memory_id, 0.0) + gains.get(memory_id, 0.0) for memory_id in {**scores, **gains}}
    scale = max(scores.values()) / max(both.values())
    return {memory_id: score * scale for memory_id, score in both.items()}
