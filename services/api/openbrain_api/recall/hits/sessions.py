"""Turns of many sessions rather than many of few: a question is often answered in a session that is not the nearest.

Measured on conversations, see docs/decisions/recall-sessions.md.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from openbrain_api.recall.order import RankedMemory

SESSIONS = 6
"""So many sessions of an answer are enough, or three for five hits."""
KEPT_OF_EACH = 2
"""The best turns of a session keep their places."""
LEAST_SHARE = 0.5
"""Of the best score: what is less near takes nobody's place."""


def spread(hits: Sequence[RankedMemory], top_k: int) -> Sequence[RankedMemory]:
    """The hits, with the best of further sessions among the first `top_k` where those are of few."""
    shown = list(hits[:top_k])
    new = _of_new_sessions(hits, top_k)
    for hit in new:
        counts = Counter(_session(item) for item in shown)
        rest = (place for place in reversed(range(len(shown))) if counts[_session(shown[place])] > KEPT_OF_EACH)
        place = next((item for item in rest if _session(shown[item])), None)
        if place is None:
            break
        shown.pop(place)
        shown.append(replace(hit, spread=True))
    ids = {hit.memory.id for hit in shown}
    return [*shown, *(hit for hit in hits if hit.memory.id not in ids)]


def _of_new_sessions(hits: Sequence[RankedMemory], top_k: int) -> Sequence[RankedMemory]:
    seen = {_session(hit) for hit in hits[:top_k]} | {""}
    lacking = min(SESSIONS, top_k * 3 // 5) - (len(seen) - 1)
    new: list[RankedMemory] = []
    for hit in hits[top_k:]:
        if len(new) >= lacking or hit.score < LEAST_SHARE * hits[0].score:
            break
        if _session(hit) not in seen:
            seen.add(_session(hit))
            new.append(hit)
    return new


def _session(hit: RankedMemory) -> str:
    """'' of what is no turn."""
    return "" if hit.memory.turn is None else hit.memory.session_id
