"""Neighbouring turns of a session add to each other's scores.

The weights were measured on conversations, see docs/decisions/recall-neighbours.md.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from openbrain.domain.access.visibility import AllOf
from openbrain.ports.store.memories import Memories, Turn
from openbrain_api.recall.fuse import Scores, best_of

WEIGHTS: Mapping[int, float] = {-2: 0.3, -1: 0.6, 1: 0.3, 2: 0.15}
"""Share of the score of the turn at that distance: preceding turns explain more than following ones."""
FULL_CHARS = 300
"""Characters from which a text explains itself: above that its neighbours count less, in proportion."""
OWNERS = 30
"""The neighbours of this many best candidates are read, or of twice as many as are wanted if that is more."""


async def neighbour_scores(
    questions: Mapping[int, tuple[Scores, int, AllOf]], turns: Mapping[int, Collection[str]], memories: Memories
) -> Mapping[int, Scores]:
    """Scores to add, by question and memory, also for neighbours that no index found. A question is given by its fused
    scores, the number of memories wanted, and its condition; questions with equal conditions share a read. `turns`:
    which of its memories are turns."""
    owners = {
        number: [item for item in best_of(scores, max(OWNERS, 2 * wanted)) if item in turns[number]]
        for number, (scores, wanted, _) in questions.items()
    }
    by_condition: defaultdict[AllOf, dict[str, None]] = defaultdict(dict)
    for number, (_, _, condition) in questions.items():
        by_condition[condition] |= dict.fromkeys(owners[number])
    around = {
        condition: await memories.turns(list(ids), condition, tuple(WEIGHTS)) if ids else {}
        for condition, ids in by_condition.items()
    }
    return {
        number: added(scores, near(owners[number], around[condition]))
        for number, (scores, _, condition) in questions.items()
    }


def near(owners: Sequence[str], turns: Mapping[str, Turn]) -> Mapping[str, Turn]:
    """Only the turns of the owners and their neighbours, so that turns read for other questions change no score."""
    places = {(turn.session_id, turn.number) for owner in owners if (turn := turns.get(owner)) is not None}
    beside = places | {(session_id, number + distance) for session_id, number in places for distance in WEIGHTS}
    return {memory_id: turn for memory_id, turn in turns.items() if (turn.session_id, turn.number) in beside}


def added(scores: Scores, turns: Mapping[str, Turn]) -> Scores:
    """Scores to add, computed from the fused scores. Independent of the order of the turns."""
    by_turn: defaultdict[tuple[str, int], float] = defaultdict(float)
    for memory_id, turn in turns.items():
        place = turn.session_id, turn.number
        by_turn[place] = max(by_turn[place], scores.get(memory_id, 0.0))
    gains = {
        memory_id: min(1.0, FULL_CHARS / max(1, turn.chars))
        * sum(
            weight * by_turn.get((turn.session_id, turn.number + distance), 0.0) for distance, weight in WEIGHTS.items()
        )
        for memory_id, turn in turns.items()
    }
    return {memory_id: gain for memory_id, gain in gains.items() if gain > 0}


def summed(scores: Scores, gains: Scores) -> Scores:
    """The sums, scaled so that the best equals the best of `scores`."""
    if not gains:
        return scores
    both = {memory_id: scores.get(memory_id, 0.0) + gains.get(memory_id, 0.0) for memory_id in {**scores, **gains}}
    scale = max(scores.values()) / max(both.values())
    return {memory_id: score * scale for memory_id, score in both.items()}
