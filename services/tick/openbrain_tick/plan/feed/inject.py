"""Injections that pages ask for, while they are fresh."""

from openbrain.vault.pages.arcs import Arc, InjectMark
from openbrain_tick.plan.arcs.heat import older
from openbrain_tick.plan.plan import Plan

_OVER = frozenset({"resolved", "graduated", "merged", "complete"})


def injects(plan: Plan) -> list[InjectMark]:
    """Inject blocks that are not too old, of arcs that are not over; each content once, the newest first."""
    marks: dict[str, tuple[Arc, InjectMark]] = {}
    plan.counts["inject_blocks_collected"] = 0
    for arc in plan.pages.values():
        if not arc.alarms or arc.merged:
            continue
        for mark in arc.injects:
            plan.counts["inject_blocks_collected"] += 1
            if arc.status in _OVER or _is_stale(plan, arc, mark):
                continue
            other = marks.get(mark.content)
            if other is None or _newest(arc, mark) < _newest(*other):
                marks[mark.content] = (arc, mark)
    return [mark for _, mark in sorted(marks.values(), key=lambda pair: _newest(*pair))]


def _is_stale(plan: Plan, arc: Arc, mark: InjectMark) -> bool:
    if mark.ttl_days is not None:
        return older(arc, plan.now_us, mark.ttl_days)
    days = plan.thresholds.stale_inject_days
    return days > 0 and older(arc, plan.now_us, days)


def _newest(arc: Arc, mark: InjectMark) -> tuple[int, str, int]:
    return (-arc.created_us, arc.path, mark.line)
