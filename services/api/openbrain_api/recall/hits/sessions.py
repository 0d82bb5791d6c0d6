"""Spread an answer over sessions: a question is often answered in a session that is not the nearest.

Measured on conversations, see docs/decisions/recall-sessions.md.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from openbrain_api.recall.order import RankedMemory

SESSIONS = 6
"""Number of sessions that an answer should have, or three per five hits if that is less."""
KEPT_OF_EACH = 2
"""Number of best turns per session that are never replaced."""
LEAST_SHARE = 0.5
"""Least share of the best score that a hit needs to replace another."""


def spread(hits: Sequence[RankedMemory], top_k: int) -> Sequence[RankedMemory]:
    """The hits; if the first `top_k` are of too few sessions, the best of further sessions replace some of them."""
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
    """The session of a turn; '' for other memories."""
    return "" if hit.memory.turn is None else hit.memory.session_id
