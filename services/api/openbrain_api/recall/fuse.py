"""Fusion of two lists of scores: min-max normalised, then weighted."""

from collections.abc import Mapping, Sequence

from openbrain.ports.index import Hit

Scores = Mapping[str, float]


def best_of(scores: Scores, most: int) -> Sequence[str]:
    """Ids of the best `most`, in a deterministic order."""
    # For some hundred scores, sorting them all takes half the time of a heap.
    ranked = sorted(((score, memory_id) for memory_id, score in scores.items()), reverse=True)
    return [memory_id for _, memory_id in ranked[:most]]


def normalise(hits: Sequence[Hit]) -> Scores:
    """Scores by memory in 0..1: the best is 1, the worst 0; all are 1 if they are equal or there is only one."""
    scores = {hit.memory_id: hit.score for hit in hits}
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    span = high - low
    if span <= 0:
        return dict.fromkeys(scores, 1.0)
    return {memory_id: (score - low) / span for memory_id, score in scores.items()}


def fuse(text: Sequence[Hit] | None, vectors: Sequence[Hit] | None, text_weight: float) -> Scores:
    """`text_weight` x text + (1 - `text_weight`) x vectors, in 0..1. A memory that one index did not find has 0 there.

    None means that the index did not answer: then the other one has the full weight.
    """
    if text is None:
        return normalise(vectors or ())
    if vectors is None:
        return normalise(text)
    rest = 1 - text_weight
    fused = {memory_id: text_weight * score for memory_id, score in normalise(text).items()}
    for memory_id, score in normalise(vectors).items():
        fused[memory_id] = fused.get(memory_id, 0.0) + rest * score
    return fused
