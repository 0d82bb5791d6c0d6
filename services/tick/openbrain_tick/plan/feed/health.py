"""Health of the vault: a deterministic score from 1 to 10, and its history."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import orjson

from openbrain.domain.memory import DAY
from openbrain.domain.times import to_iso
from openbrain.vault.pages.arcs import Arc
from openbrain_tick.plan.arcs.heat import older
from openbrain_tick.plan.arcs.signals import GRAVE, PageSignal
from openbrain_tick.plan.feed.feed_files import FOLDER
from openbrain_tick.plan.plan import Plan

PATH: Final = f"{FOLDER}/health.jsonl"
_FRESH_DAYS: Final = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """Shares from 0 to 1. `coverage`: arcs with a summary, synthesis or lessons (also lessons posted by their sessions;
    each other posted lesson counts as one more arc). `freshness`: arcs of the last week, relative to one per
    day. `connectivity`: arcs with an edge to an existing arc. `signal_quality`: signals that name their source and are
    not both severe and old."""

    arcs: int
    signals: int
    lessons: int
    coverage: float
    freshness: float
    connectivity: float
    signal_quality: float

    @property
    def score(self) -> int:
        """1 to 10; all four shares have the same weight."""
        total = self.coverage + self.freshness + self.connectivity + self.signal_quality
        return max(1, min(10, round(total / 4 * 10)))

    @property
    def reason(self) -> str:
        """The shares as text, lowest first."""
        shares = {
            "coverage": self.coverage,
            "freshness": self.freshness,
            "connectivity": self.connectivity,
            "signal quality": self.signal_quality,
        }
        return ", ".join(f"{name} {share:.0%}" for name, share in sorted(shares.items(), key=lambda pair: pair[1]))


def health(plan: Plan, shown: Sequence[PageSignal]) -> Health:
    """Health of the planned vault, with its open signals."""
    arcs = plan.arcs()
    ids = {arc.id for arc in arcs}
    week = plan.now_us - _FRESH_DAYS * DAY
    joined = fresh = 0
    for arc in arcs:
        joined += not ids.isdisjoint(arc.links)
        fresh += arc.created_us >= week
    good = sum(1 for item in shown if item.mark.source != "unknown" and not _is_neglected(plan, item))
    return Health(
        arcs=len(arcs),
        signals=len(shown),
        lessons=sum(arc.lessons for arc in plan.pages.values() if not arc.merged),
        coverage=_share(min(_covered(plan, arcs), len(arcs)), len(arcs)),
        freshness=min(1.0, fresh / _FRESH_DAYS),
        connectivity=_share(joined, len(arcs)),
        signal_quality=_share(good, len(shown)),
    )


def record(plan: Plan, current: Health, *, score: int | None = None, reason: str = "") -> None:
    """Add a row to health.jsonl; it replaces the last one if that has the same timestamp. `score`, `reason`: those of a
    model, if it gave any."""
    row = {
        "timestamp": to_iso(plan.now_us)[:19] + "Z",
        "score": current.score if score is None else score,
        "reason": reason or current.reason,
        "arcs": current.arcs,
        "signals": current.signals,
        "lessons": current.lessons,
    }
    if score is not None:
        row["computed"] = current.score
    lines = [line for line in (plan.text(PATH) or "").splitlines() if line.strip()]
    if lines and _timestamp(lines[-1]) == row["timestamp"]:
        lines.pop()
    lines.append(orjson.dumps(row).decode())
    plan.put(PATH, "\n".join(lines[-plan.thresholds.health_rows :]) + "\n")


def _covered(plan: Plan, arcs: Sequence[Arc]) -> int:
    posted = [
        marker.attrs.get("session", "")
        for page in plan.pages.values()
        if page.lessons and not page.ranked and not page.merged
        for marker in page.markers
        if marker.type == "lesson" and marker.block
    ]
    sessions = set(filter(None, posted))
    covered = 0
    owned: set[str] = set()
    for arc in arcs:
        own = _sessions(arc.detail) & sessions if sessions else frozenset()
        owned |= own
        covered += arc.lessons > 0 or arc.synthesized or arc.summary != "" or bool(own)
    return covered + sum(session not in owned for session in posted)


# Cached, because most arcs stay the same from tick to tick.
@lru_cache(maxsize=65_536)
def _sessions(detail: str) -> frozenset[str]:
    return frozenset(orjson.loads(detail).get("sessions", ()) if detail else ())


def _is_neglected(plan: Plan, shown: PageSignal) -> bool:
    """True if the signal is severe and nobody ended it in time."""
    return shown.mark.severity in GRAVE and older(shown.arc, plan.now_us, plan.thresholds.stale_signal_days)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def _timestamp(line: str) -> str:
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError:
        return ""
    return str(row.get("timestamp", "")) if isinstance(row, dict) else ""
