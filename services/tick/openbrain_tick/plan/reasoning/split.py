"""Splits an arc: each part becomes a new page with an edge to the arc; the arc keeps its text."""

import hashlib
import re
from dataclasses import replace
from pathlib import PurePosixPath

from openbrain.domain.errors import Conflict
from openbrain.vault.front_matter.document import Front, Page
from openbrain.vault.markers.posted_markers import slug
from openbrain.vault.pages.arcs import Arc
from openbrain_tick.plan.plan import Plan
from openbrain_tick.plan.reasoning.answer.items import Part, Split
from openbrain_tick.plan.reasoning.page_edits import Write, arc_of, edge_mark, is_there, page_of
from openbrain_tick.plan.reasoning.sections import add

_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def split(item: Split, plan: Plan) -> list[Write]:
    """The files to write. A part takes the sessions that it names; the others stay. `Conflict` if a part's file
    exists."""
    arc = arc_of(plan, item.arc)
    page = page_of(plan, arc)
    ids = {part.title: part_id(arc, part) for part in item.into}
    paths = {title: str(PurePosixPath(arc.path).with_name(f"{name}.md")) for title, name in ids.items()}
    taken = next((path for path in paths.values() if is_there(plan, path)), None)
    if taken is not None:
        raise Conflict(f"{taken} is there already")
    moved = {session for part in item.into for session in part.sessions}
    left = [session for session in page.front.strings("source_sessions") if session not in moved]
    if moved - set(page.front.strings("source_sessions")):
        raise Conflict("sessions of this arc were moved elsewhere meanwhile")
    front = page.front.with_values({"source_sessions": left}) if moved else page.front
    body = add(page.body, "Edges", [edge_mark("child", name) for name in ids.values()], before="Source sessions")
    parts = [
        Write(paths[part.title], _page(part, ids[part.title], arc, page, item.reason).text()) for part in item.into
    ]
    return [Write(arc.path, replace(page, front=front, body=body).text()), *parts]


def part_id(arc: Arc, part: Part) -> str:
    """The day of the arc, the part's title, and a hash of its sessions (of arc and title if it has none)."""
    day = _DATE.search(arc.id)
    hashed = "\n".join(sorted(part.sessions)) if part.sessions else f"{arc.id}\n{part.title}"
    digest = hashlib.sha1(hashed.encode(), usedforsecurity=False).hexdigest()[:12]
    return "-".join(filter(None, (day[0] if day else "", slug(part.title), digest)))


def _page(part: Part, name: str, arc: Arc, parent: Page, reason: str) -> Page:
    front = Front().with_values(
        {
            "cluster_id": name,
            "title": part.title,
            "region": arc.region or None,
            "status": arc.status or None,
            "heat": 0,
            "source_sessions": list(part.sessions),
            "project": arc.project or None,
            "created": parent.front.text("created") or None,
            "last_activity": parent.front.text("last_activity") or None,
            "split_from": arc.id,
            "synthesized": False,
        }
    )
    blocks = [
        f"# {part.title}",
        "## Ignition",
        f"> {reason or f'Split from {arc.title}'}",
        "## Timeline",
        "### Completed",
        "### Errors / learning",
        "### Resolution",
        "## Lessons to reproduce",
        "## Edges",
        edge_mark("parent", arc.id),
        "## Source sessions",
        "\n".join(f"- home-bridge://sessions/{session}" for session in part.sessions),
    ]
    return Page(front, "\n" + "\n\n".join(blocks).rstrip() + "\n", 1)
