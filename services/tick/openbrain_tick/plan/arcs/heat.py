"""Heat of an arc: 0 to 10, from its age, its sessions and their results."""

from collections import Counter
from collections.abc import Iterable

from openbrain.domain.memory import DAY, HOUR
from openbrain.vault.pages.arcs import Arc
from openbrain.vault.thresholds import Thresholds

HOTTEST = 10


def age_days(arc: Arc, now_us: int) -> int:
    """Whole days since the arc was created; 0 if that is in the future."""
    return max(0, (now_us - arc.created_us) // DAY)


def older(arc: Arc, now_us: int, days: int) -> bool:
    """True if more than `days` days have passed since the arc was created."""
    return now_us - arc.created_us > days * DAY


def replays(arcs: Iterable[Arc], now_us: int, thresholds: Thresholds) -> Counter[str]:
    """Number of young arcs replayed from each arc, by its id."""
    counts: Counter[str] = Counter()
    for arc in arcs:
        if arc.replayed_from and age_days(arc, now_us) < thresholds.replay_days:
            counts.update(set(arc.replayed_from) - {arc.id})
    return counts


def heat_of(arc: Arc, replayed: int, now_us: int, thresholds: Thresholds) -> int:
    """The arc's current heat. `replayed`: number of young arcs replayed from it. The heat in the file does not
    count."""
    age_us = now_us - arc.created_us
    heat = replayed
    if age_us <= 72 * HOUR:
        heat += 3 if age_us <= 24 * HOUR else 1
    if arc.tools >= 1000:
        heat += min(4, 2 * (arc.tools // 1000))
    if arc.session_count > thresholds.sessions_free:
        heat += min(3, arc.session_count - thresholds.sessions_free)
    if arc.joy > 0:
        heat += 1
    if arc.status == "active":
        heat += 2
    days = age_us // DAY - thresholds.decay_start_days
    if days > 0:
        heat -= days // thresholds.decay_interval_days
    return 0 if heat < 0 else min(heat, HOTTEST)
