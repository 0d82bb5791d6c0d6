"""Explanation of each memory's score and rank."""

from collections.abc import Collection, Mapping, Sequence

from openbrain.domain.memory import MemoryType, effective_confidence
from openbrain.ports.index import Hit
from openbrain_api.recall.comparing.late import Similarities, among, late_scores, weights
from openbrain_api.recall.comparing.time_words import TimeSpan, nearness
from openbrain_api.recall.fuse import Scores, normalise
from openbrain_api.recall.order import RankedMemory, bucket
from openbrain_api.recall.question import Json

_NONE: Scores = {}
_UNCOMPARED: Similarities = {}


def explained(
    memories: Sequence[RankedMemory],
    *,
    text: Sequence[Hit] | None,
    vectors: Sequence[Hit] | None = None,
    fused: Scores,
    late: Similarities = _UNCOMPARED,
    late_weight: float = 0.0,
    neighbours: Scores = _NONE,
    named: Collection[str] = (),
    name_lift: float = 0.0,
    times: Sequence[TimeSpan] = (),
    time_lift: float = 0.0,
    project: str,
    project_margin: float,
    text_weight: float,
    now: int,
    width: float,
    top: float,
    half_life_days: Mapping[MemoryType, float | None],
) -> Mapping[str, Json]:
    """The members of `Explanation` by memory id."""
    lists = {"text": (text, text_weight), "vectors": (vectors, 1 - text_weight)}
    parts = {name: (_by_id(hits), normalise(hits or ()), weight) for name, (hits, weight) in lists.items()}
    similar, shares = among(late), weights(late, late_weight)
    ranks = {memory_id: rank for rank, memory_id in enumerate(sorted(late, key=similar.__getitem__, reverse=True), 1)}
    normalised = late_scores(similar)
    return {
        ranked.memory.id: {
            **{name: _part(ranked.memory.id, *part) for name, part in parts.items()},
            "late": {
                "rank": ranks[ranked.memory.id],
                "score": similar[ranked.memory.id],
                "normalised": normalised.get(ranked.memory.id, 0.0),
                "weight": shares[ranked.memory.id],
            }
            if ranked.memory.id in late
            else None,
            "fused": fused.get(ranked.memory.id, 0.0),
            "neighbours": neighbours.get(ranked.memory.id, 0.0),
            "named": name_lift if ranked.memory.id in named else 0.0,
            "time": time_lift * nearness(times, ranked.memory.occurred_at),
            "project": -project_margin if project and ranked.memory.project != project else 0.0,
            "boosted": ranked.score,
            "spread": ranked.spread,
            "bucket": bucket(top, ranked.score, width),
            "scope": ranked.memory.memory_scope,
            "effective_confidence": effective_confidence(ranked.memory, now, half_life_days),
        }
        for ranked in memories
    }


def _by_id(hits: Sequence[Hit] | None) -> dict[str, tuple[int, float]]:
    return {hit.memory_id: (rank, hit.score) for rank, hit in enumerate(hits or (), 1)}


def _part(memory_id: str, ranked: dict[str, tuple[int, float]], normalised: Scores, weight: float) -> Json | None:
    """One index's share; None if it did not find the memory."""
    if memory_id not in ranked:
        return None
    rank, score = ranked[memory_id]
    return {"rank": rank, "score": score, "normalised": normalised[memory_id], "weight": weight}
