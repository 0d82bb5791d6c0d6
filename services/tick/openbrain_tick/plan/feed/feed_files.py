"""The files that agents read. A body contains no current time, so that it changes only with its content, and at most as
many characters as the agents' client accepts."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from openbrain.domain.text.displayed import plain
from openbrain.domain.times import to_iso
from openbrain.vault.front_matter import document
from openbrain.vault.markers import markers
from openbrain.vault.markers.redaction import redacted
from openbrain.vault.pages.alarm import PRIORITY, TITLE, TTL_S, Alarm
from openbrain.vault.pages.arcs import Arc, InjectMark
from openbrain.vault.pages.bodies import BODY_CHARS, PARTS, clipped, first_line, fitted
from openbrain_tick.plan.arcs.heat import older
from openbrain_tick.plan.arcs.references import hottest
from openbrain_tick.plan.arcs.signals import PageSignal
from openbrain_tick.plan.plan import Plan

FOLDER: Final = "brain-feed"
NO_SIGNALS: Final = "No active signals."
NO_INJECTS: Final = "No inject blocks."
"""The client does not show bodies that consist only of one of these texts."""
_LEAST_CELL: Final = 16
_OVER = frozenset({"resolved", "graduated", "merged", "complete"})
_DAY = re.compile(r"-\d{4}-\d\d-\d\d\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedFile:
    """One file of the feed. `ttl` in seconds; a higher `priority` is shown earlier."""

    name: str
    id: str
    title: str
    priority: int
    ttl: int = 3600
    severity: str = "info"
    body: str

    def text(self) -> str:
        """The text that the client reads."""
        return (
            f"---\nid: {self.id}\ntitle: {self.title}\npriority: {self.priority}\nttl: {self.ttl}\n"
            f"severity: {self.severity}\n---\n\n{self.body}\n"
        )


def put(plan: Plan, file: FeedFile) -> None:
    """Write a file of the feed. If only the day in its id differs, the file stays unchanged and keeps the old id."""
    path = f"{FOLDER}/{file.name}"
    if len(file.body) > BODY_CHARS:
        raise ValueError(f"{path}: a body holds at most {BODY_CHARS} characters")
    text = plan.text(path)
    written_id = document.read(text, path).front.text("id") if text else ""
    if _DAY.sub("", written_id) != _DAY.sub("", file.id) or replace(file, id=written_id).text() != text:
        plan.put(path, file.text())


def hot_arcs(plan: Plan) -> FeedFile:
    """The hottest arcs as a table; arcs without heat are left out."""
    thresholds = plan.thresholds
    hot = hottest((arc for arc in plan.arcs() if arc.heat), thresholds.hot_arcs)
    plan.counts["hot_arcs_written"] = len(hot)
    heading = "| Arc | Heat | Region | Status | Title |"
    if thresholds.hot_arc_summaries:
        heading = "| Arc ID | Heat | Region | Status | What it is |"
    head = ["## Hot Arcs", "", heading, "|---|---|---|---|---|"]
    widths = [*range(thresholds.hot_arc_chars, _LEAST_CELL, -4), _LEAST_CELL]
    # Shorten titles before dropping rows.
    for rows in range(len(hot), -1, -1):
        for width in widths:
            body = "\n".join([*head, *(_row(arc, width, summary=thresholds.hot_arc_summaries) for arc in hot[:rows])])
            if len(body := redacted(plain(body))) <= BODY_CHARS:
                name = f"hot-arcs-{to_iso(plan.now_us)[:10]}"
                return FeedFile(name="hot-arcs.md", id=name, title="Active Hot Arcs", priority=10, body=body)
    raise AssertionError("a table without rows is short")


def injects(plan: Plan) -> list[InjectMark]:
    """Inject blocks that are not too old, of arcs that are not over; each content once, newest first."""
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


def injected(marks: Sequence[InjectMark]) -> FeedFile:
    """The file of inject blocks, as many as fit."""
    blocks = [f"**[{first_line(mark.target, 60) or 'all'}]** {_text(mark.content)}" for mark in marks[:PARTS]]
    body = _safe(fitted(blocks, "\n\n", "inject blocks", more=len(marks[PARTS:]))) or NO_INJECTS
    return FeedFile(name="inject.md", id="inject", title="Brain Inject", priority=9, body=body)


def signalled(shown: Sequence[PageSignal]) -> FeedFile:
    """The file of open signals, as many as fit, most severe first."""
    bullets = [
        f"- **[{item.mark.severity}]** ({first_line(item.mark.source, 60)}) {first_line(_text(item.mark.content), 300)}"
        for item in shown[:PARTS]
    ]
    body = _safe(fitted(bullets, "\n", "signals", head="## Signals\n\n", more=len(shown[PARTS:]))) or NO_SIGNALS
    return FeedFile(name="signals.md", id="signals", title="Active Signals", priority=8, severity="warning", body=body)


def alarmed(plan: Plan, alarm: Alarm | None) -> None:
    """Write amygdala-active.md, or remove it if there is no alarm."""
    name = "amygdala-active.md"
    if alarm is None:
        plan.put(f"{FOLDER}/{name}", None)
        return
    file = FeedFile(
        name=name,
        id="amygdala-active",
        title=TITLE,
        priority=PRIORITY,
        ttl=TTL_S,
        severity=alarm.severity,
        body=alarm.body,
    )
    put(plan, file)


def _row(arc: Arc, width: int, *, summary: bool) -> str:
    label = clipped(cell(arc.summary if summary and arc.summary else arc.title), width)
    name = cell(arc.id) if summary else f"[[{cell(arc.id)}]]"
    region, status = clipped(cell(arc.region), 20), clipped(cell(arc.status), 12)
    return f"| {name} | {arc.heat or 0} | {region} | {status} | {label} |"


def cell(text: str) -> str:
    """Text that can't break out of its table cell."""
    return " ".join(text.replace("|", "-").split())


def _safe(body: str) -> str:
    """Redact credentials that somebody wrote into a page, and clip the body."""
    return clipped(redacted(body), BODY_CHARS)


def _text(content: str) -> str:
    return markers.without_markers(content).strip()


def _is_stale(plan: Plan, arc: Arc, mark: InjectMark) -> bool:
    if mark.ttl_days is not None:
        return older(arc, plan.now_us, mark.ttl_days)
    days = plan.thresholds.stale_inject_days
    return days > 0 and older(arc, plan.now_us, days)


def _newest(arc: Arc, mark: InjectMark) -> tuple[int, str, int]:
    return (-arc.created_us, arc.path, mark.line)
