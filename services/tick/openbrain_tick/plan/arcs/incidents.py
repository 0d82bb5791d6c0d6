"""Incidents: an arc for each severe signal in the database, closed when the signal ends.

The page has no @signal marker: the database has the signal already, and a marker would raise it again. The arc's id
ends with the signal's, so that the signal is known without reading the page.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from openbrain.domain.signals.values import Signal
from openbrain.domain.times import to_iso
from openbrain.vault.front_matter.rendering import Value, spelt
from openbrain.vault.markers.posted_markers import slug
from openbrain.vault.markers.redaction import quotable, quotable_line, quotable_title
from openbrain.vault.pages.arcs import Arc, identity
from openbrain.vault.pipeline import SELF
from openbrain_tick.plan.plan import Plan

FOLDER: Final = "amygdala"
PENDING: Final = "(pending)"
_PENDING = re.compile(rf"^{re.escape(PENDING)}(?=\s*$)", re.MULTILINE)
"""On a line of its own: the signal's text is quoted above and may contain the word."""
_ID = re.compile(r"^amygdala-.*-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$")


def signal_of(arc: Arc) -> str:
    """The id of an incident's signal; '' if the arc is not an incident."""
    match = _ID.match(arc.id)
    return match[1] if match else ""


def unclosed(pages: Iterable[Arc]) -> frozenset[str]:
    """Ids of the signals of incidents that are not closed."""
    return frozenset(name for arc in pages if arc.status == "active" and (name := signal_of(arc)))


def incidents(
    plan: Plan,
    open_signals: Sequence[Signal],
    ended: Mapping[str, Signal | None],
    of_marks: Collection[str] = (),
) -> None:
    """Open and close incidents. `open_signals`: all open signals. `ended`: signals from `unclosed` that are no longer
    open, None if the row is gone. `of_marks`: ids of signals known to be raised by marks, whose text in the database
    may differ (redacted, cut). Counts incidents_opened and incidents_closed."""
    known = {name: arc for arc in plan.pages.values() if (name := signal_of(arc))}
    marked = {mark.identity for arc in plan.pages.values() if not arc.merged for mark in arc.signals}
    for signal in open_signals:
        known_here = signal.id in known or signal.id in of_marks
        known_here = known_here or identity(signal.source, signal.content) in marked
        if signal.severity.grave and not known_here and not signal.source.startswith(SELF):
            _open(plan, signal)
    for signal_id, row in ended.items():
        arc = known.get(signal_id)
        if arc is not None and arc.status == "active":
            _close(plan, arc, row)


def _open(plan: Plan, signal: Signal) -> None:
    arc_id = f"amygdala-{to_iso(signal.first_raised_at)[:10]}-{slug(signal.title)}-{signal.id}"
    path = f"{FOLDER}/{arc_id}.md"
    if plan.vacant(path):
        plan.add(path, _page(signal, arc_id))
        plan.counts["incidents_opened"] += 1


def _page(signal: Signal, arc_id: str) -> str:
    title = quotable_title(signal.title, 120)
    raised = to_iso(signal.first_raised_at)
    front: dict[str, Value] = {
        "cluster_id": arc_id,
        "title": title,
        "region": "amygdala",
        "status": "active",
        "heat": 10,
        "severity": str(signal.severity),
        "source": quotable_line(signal.source, 255),
        "signal_id": signal.id,
        "project": quotable_line(signal.project, 255),
        "created": raised,
    }
    text = quotable(signal.content.strip()) or title
    lines = ["---", *(f"{key}: {spelt(value, inside=False)}" for key, value in front.items() if value != ""), "---"]
    blocks = [
        "\n".join(lines),
        f"# {title}",
        "## Ignition",
        "\n".join(f"> {line}".rstrip() for line in text.splitlines()),
        "## Timeline",
        f"- {raised} raised by {quotable_line(signal.source, 255)} as {signal.severity}",
        "## Resolution",
        PENDING,
    ]
    return "\n\n".join(blocks) + "\n"


def _close(plan: Plan, arc: Arc, row: Signal | None) -> None:
    if row is None or row.ended_at is None:
        how, at = "no longer known", to_iso(plan.now_us)
    else:
        by = f" by {quotable_line(row.ended_by, 100)}" if row.ended_by else ""
        note = f": {quotable_line(row.note, 300)}" if row.note else ""
        how, at = f"{row.state}{by}{note}", to_iso(row.ended_at)
    closed = plan.edit(arc, {"status": "resolved"}, body=lambda body: _PENDING.sub(lambda _: f"{at} {how}", body, 1))
    plan.counts["incidents_closed"] += closed is not arc
