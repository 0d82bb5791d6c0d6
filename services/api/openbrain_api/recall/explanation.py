"""How the score and the place of each memory came about. Pure."""

from collections.abc import Mapping, Sequence

from openbrain.domain.memory import MemoryType, effective_confidence
from openbrain.ports.index import Hit
from openbrain_api.recall.fuse import Scores, normalise
from openbrain_api.recall.order import Found, bucket
from openbrain_api.recall.question import Json


def explained(
    found: Sequence[Found],
    *,
    text: Sequence[Hit] | None,
    vectors: Sequence[Hit] | None,
    fused: Scores,
    text_weight: float,
    now: int,
    width: float,
    half_life_days: Mapping[MemoryType, float | None],
) -> Mapping[str, Json]:
    """By memory id, the members of `answers.Explanation`."""
    if not found:
        return {}
    lists = {"text": (text, text_weight), "vectors": (vectors, 1 - text_weight)}
    parts = {name: (_by_id(hits), normalise(hits or ()), weight) for name, (hits, weight) in lists.items()}
    top = max(each.score for each in found)
    return {
        each.memory.id: {
            **{name: _part(each.memory.id, *part) for name, part in parts.items()},
            "fused": fused[each.memory.id],
            "boosted": each.score,
            "bucket": bucket(top, each.score, width),
            "scope": each.memory.memory_scope,
            "effective_confidence": effective_confidence(each.memory, now, half_life_days),
        }
        for each in found
    }


def _by_id(hits: Sequence[Hit] | None) -> dict[str, tuple[int, float]]:
    return {hit.memory_id: (rank, hit.score) for rank, hit in enumerate(hits or (), 1)}


def _part(memory_id: str, ranked: dict[str, tuple[int, float]], normalised: Scores, weight: float) -> Json | None:
    """One index's share; None where it did not find the memory."""
    if memory_id not in ranked:
        return None
    rank, score = ranked[memory_id]
    return {"rank": rank, "score": score, "normalised": normalised[memory_id], "weight": weight}
