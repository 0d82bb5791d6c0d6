"""Late interaction: compare candidates with the question word by word, each word in its context.

The token states are read by the ids that the indexes returned. Visibility is checked with the database afterwards, as
for every candidate.
"""

import asyncio
from array import array
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from openbrain.ports.models import TokenEncoder, TokenSimilarity
from openbrain_api.recall.comparing.candidate_reads import CandidateReads
from openbrain_api.recall.comparing.state_cache import States
from openbrain_api.recall.fuse import Scores

KEPT = 100
"""Number of best memories with a score above 0: lower ones say little about how near the others are."""
FULL_TOKENS = 60
"""Content words up to which a memory's comparison has its full weight; above that it has less, in proportion: in a long
text something is always near."""
EXPONENT = 1.15
"""Above 1: the most similar memories stand out more."""
NEAR = 0.5
"""Similarity of the nearest memory from which the comparison has its full weight; below that it has less, in
proportion: if none is near, their order says little."""
LEAST_SPAN = 0.25
"""Least span for normalising: smaller differences would, among few candidates, outweigh the indexes' scores."""
THREAD_FROM_BYTES = 1_000_000
"""Bytes of states from which a comparison takes milliseconds, too long for the event loop: it runs in a thread."""


class TokenQuestion(NamedTuple):
    """A question's token states, and the vector model with which the candidates' states are stored."""

    states: "array[float]"
    model: str


class Comparison(NamedTuple):
    """A question, its candidates, and the neighbours of some of them (from `context`)."""

    question: TokenQuestion
    candidates: Sequence[str]
    beside: Mapping[str, Mapping[str, float]] = {}


Similarities = Mapping[str, TokenSimilarity]
"""By memory id; those without token states are absent."""


class LateInteraction:
    """Compares questions with memories by their token states."""

    def __init__(self, encoder: TokenEncoder) -> None:
        self._encoder = encoder

    async def similarities(
        self, comparisons: Mapping[int, Comparison], reads: CandidateReads
    ) -> Mapping[int, Similarities]:
        """By question: the similarities of those candidates that have token states."""
        ids: defaultdict[str, set[str]] = defaultdict(set)
        for question, candidates, _ in comparisons.values():
            ids[question.model].update(candidates)
        states = {model: await reads.states(sorted(some), model) for model, some in ids.items()}
        return {
            number: await self._compared(comparison, states[comparison.question.model])
            for number, comparison in comparisons.items()
        }

    async def _compared(self, comparison: Comparison, states: States) -> Similarities:
        # Sorted, so that sums of floats are reproducible.
        known = [memory_id for memory_id in sorted(comparison.candidates) if states[memory_id]]
        documents = [states[memory_id] for memory_id in known]
        places = {memory_id: place for place, memory_id in enumerate(known)}
        beside = [
            (places[memory_id], places[other], share)
            for memory_id, others in comparison.beside.items()
            for other, share in others.items()
            if memory_id in places and other in places
        ]
        question = comparison.question.states
        if sum(len(passage) for passages in documents for passage in passages) < THREAD_FROM_BYTES:
            scores = self._encoder.similarities(question, documents, beside)
        else:
            scores = await asyncio.to_thread(self._encoder.similarities, question, documents, beside)
        return {memory_id: score for memory_id, score in zip(known, scores, strict=True) if score is not None}


def among(similarities: Similarities) -> Scores:
    """The similarities used for ranking."""
    return {memory_id: similarity.among for memory_id, similarity in similarities.items()}


def weights(similarities: Similarities, late_weight: float) -> Scores:
    """The weight of each memory's late score: `late_weight`, or less if the memory is long or none is near."""
    nearest = max((similarity.alone for similarity in similarities.values()), default=0.0)
    most = late_weight * min(1.0, max(nearest, 0.0) / NEAR)
    return {
        memory_id: most * min(1.0, FULL_TOKENS / similarity.tokens) for memory_id, similarity in similarities.items()
    }


def mixed(fused: Scores, similarities: Similarities, late_weight: float) -> Scores:
    """The memory's weight x late + the rest x fused; a candidate without token states keeps its fused score."""
    late, weight = late_scores(among(similarities)), weights(similarities, late_weight)
    return {
        memory_id: (1 - weight.get(memory_id, 0.0)) * score + weight.get(memory_id, 0.0) * late.get(memory_id, 0.0)
        for memory_id, score in fused.items()
    }


def late_scores(similar: Scores) -> Scores:
    """Scores of the `KEPT` best: the best 1, the worst 0, or more if all are about equally similar. Raised to
    `EXPONENT`."""
    best = sorted((-similarity, memory_id) for memory_id, similarity in similar.items())[:KEPT]
    if not best:
        return {}
    top, low = -best[0][0], -best[-1][0]
    span = max(top - low, LEAST_SPAN)
    return {memory_id: (1 - (top + lower) / span) ** EXPONENT for lower, memory_id in best}
