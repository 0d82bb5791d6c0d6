"""Parses a page's text into an arc."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from openbrain.domain.memory import DAY
from openbrain.domain.signals.values import Severity
from openbrain.domain.times import from_iso
from openbrain.vault.front_matter import document
from openbrain.vault.front_matter.document import whole_number
from openbrain.vault.front_matter.lines import read_line
from openbrain.vault.front_matter.yaml_nodes import Scalar
from openbrain.vault.markers import markers
from openbrain.vault.pages.arcs import Arc
from openbrain.vault.values import Marker, Problem

SEVERITIES = tuple(str(item) for item in Severity)
"""In the order of their rank."""
RESOLVED = "resolved"
NO_SOURCE = "unknown"
REFERENCES = "frontal-lobe/"
"""Pages in this folder may be references to arcs."""

_DATE = re.compile(r"(?<!\d)\d{4}-\d\d-\d\d(?!\d)", re.ASCII)
_POSTED = re.compile(r"^## (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ) — [^\n]*\n\n\Z", re.MULTILINE | re.ASCII)
"""The heading of a posted marker, directly before the marker."""
_LINK = re.compile(r"\s*(?:\[\[[^\n]*\]\]\s*)?")
_HEADING = re.compile(r"^\ufeff?# +(\S.*)$", re.MULTILINE)


def parse_arc(path: str, text: str, mtime_ns: int) -> Arc:
    """The arc of the page at `path`. Unreadable parts are listed in `problems`; never raises."""
    page = document.read(text, path)
    front, marks = page.front, markers.parse(page.body, path, page.body_line)
    problems = [*page.problems, *marks.problems]
    stem = path.rpartition("/")[2].removesuffix(".md")
    arc_id = stem
    while arc_id.endswith(".merged"):
        arc_id = arc_id.removesuffix(".merged")
    fields = front.texts()
    created_us, dated = _created(fields, arc_id, path, mtime_ns, problems)
    counts = front.get("signals")
    counted = counts if isinstance(counts, Mapping) else {}
    edges = _edges(front.get("edges"), marks.markers)
    sessions = front.strings("source_sessions")
    alarms = [_signals(marks.markers, path, problems), _injects(marks.markers, path, problems)]
    detail = {
        "sessions": sessions,
        "edges": edges,
        "markers": [_plain(marker, page.body) for marker in marks.markers],
        "problems": [(problem.line, problem.reason) for problem in problems],
    }
    named = "cluster_id" in fields
    heading = None if "title" in fields else _HEADING.search(page.body)
    return Arc(
        path=path,
        id=arc_id,
        title=fields.get("title") or (heading[1].strip() if heading else arc_id),
        region=fields.get("region", ""),
        status=fields.get("status", "").lower(),
        project=_project(front),
        summary=fields.get("summary", ""),
        heat=whole_number(fields.get("heat", "")),
        created_us=created_us,
        dated=dated,
        ranked=is_ranked(path, arc_id, named=named),
        named=named,
        merged=stem != arc_id,
        last_activity_us=(from_iso(fields["last_activity"]) if "last_activity" in fields else None) or 0,
        writable=not front.broken,
        synthesized=fields.get("synthesized", "").lower() == "true",
        session_count=len(sessions),
        tools=_count(counted.get("tools")),
        joy=_count(counted.get("joy")),
        errors=_count(counted.get("errors")),
        lessons=sum([marker.type == "lesson" and marker.block for marker in marks.markers]),
        problem_count=len(problems),
        reference=_reference(page) if path.startswith(REFERENCES) else "",
        replayed_from=front.strings("replayed_from"),
        mitigates=front.strings("mitigates"),
        links=tuple(target for _, target in edges),
        alarms=_json(alarms) if any(alarms) else "",
        detail=_json({name: part for name, part in detail.items() if part}),
    )


def is_ranked(path: str, arc_id: str, *, named: bool) -> bool:
    """True if the page is an arc: it says so (`named`), or is in clusters/ with a date in its name."""
    return named or (path.startswith("clusters/") and _DATE.search(arc_id) is not None)


def _project(front: document.Front) -> str:
    """Also of front matter that can't be read, as during a merge conflict: without a project, the page's signals and
    new memories would reach all others."""
    if not front.broken:
        return front.text("project")
    nodes = (read_line(line) for line in front.lines if line.startswith("project:"))
    return next((node.text for node in nodes if isinstance(node, Scalar) and not node.is_null), "")


def _reference(page: document.Page) -> str:
    """The path that the page refers to; '' if it holds more than the reference, such as somebody's notes."""
    alone = [*page.front] == ["reference"] and _LINK.fullmatch(page.body) is not None
    return page.front.text("reference") if alone else ""


def _created(
    fields: Mapping[str, str], arc_id: str, path: str, mtime_ns: int, problems: list[Problem]
) -> tuple[int, bool]:
    if "created" in fields:
        at = from_iso(fields["created"])
        if at is not None:
            return at, True
        problems.append(Problem(path, 0, "created is no ISO date: write it as 2026-04-10 or with its time"))
    for name in (fields.get("cluster_id", ""), arc_id):
        for match in _DATE.finditer(name):
            at = from_iso(match[0])
            if at is not None:
                return at, True
    return mtime_ns // 1000 // DAY * DAY, False


def _signals(
    marks: Sequence[Marker], path: str, problems: list[Problem]
) -> list[tuple[str, str, str, int, str, str, str]]:
    signals = []
    for marker in marks:
        if marker.type != "signal" or not marker.block:
            continue
        severity = marker.attrs.get("severity", "").lower()
        if severity not in SEVERITIES and severity != RESOLVED:
            reason = f"@signal: severity is one of {', '.join(SEVERITIES)} or {RESOLVED}; this one counts as a warning"
            problems.append(Problem(path, marker.line_start, reason))
            severity = "warning"
        attrs = marker.attrs
        source = attrs.get("source") or NO_SOURCE
        where = (marker.line_start, attrs.get("verify", ""), attrs.get("cleared", ""), attrs.get("project", ""))
        signals.append((severity, source, marker.content, *where))
    return signals


def _injects(marks: Sequence[Marker], path: str, problems: list[Problem]) -> list[tuple[str, str, int, int | None]]:
    injects = []
    for marker in marks:
        if marker.type != "inject" or not marker.block or not marker.content:
            continue
        days_text = marker.attrs.get("ttl_days", "")
        days = int(days_text) if days_text.isascii() and days_text.isdigit() and len(days_text) < 7 else None
        if days_text and days is None:
            problems.append(Problem(path, marker.line_start, "@inject: ttl_days is a whole number of days"))
        injects.append((marker.attrs.get("target", ""), marker.content, marker.line_start, days))
    return injects


def _edges(stored: Any, marks: Sequence[Marker]) -> list[tuple[str, str]]:
    """Edges in front matter such as [{"sibling": "<id>"}], then those of the markers."""
    edges = [
        (str(kind), str(target))
        for item in (stored if isinstance(stored, Sequence) and not isinstance(stored, str) else ())
        if isinstance(item, Mapping)
        for kind, target in item.items()
        if isinstance(target, str) and target
    ]
    edges += [
        (marker.attrs.get("type", "related"), marker.attrs["target"])
        for marker in marks
        if marker.type == "edge" and marker.attrs.get("target")
    ]
    return list(dict.fromkeys(edges))


def _plain(marker: Marker, body: str) -> tuple[Any, ...]:
    at = (marker.line_start, marker.line_end, marker.block, marker.start, marker.end)
    attrs = dict(marker.attrs)
    if "date" not in attrs and body.startswith("\n\n", marker.start - 2):
        posted = _POSTED.search(body, max(0, marker.start - 300), marker.start)
        if posted is not None:
            attrs["date"] = posted[1]
    return (marker.type, attrs, marker.content, *at)


def _count(value: Any) -> int:
    """A number from a page, clamped to 0..2**53 for the index file; 0 if it is not a number."""
    try:
        return min(max(int(value), 0), 2**53)
    except (TypeError, ValueError, OverflowError):
        return 0


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()
