"""Edits of pages for one item of an answer: all are computed before any is put into the plan."""

from dataclasses import dataclass, replace

from openbrain.domain.errors import Conflict
from openbrain.domain.times import to_iso
from openbrain.vault.front_matter.document import Page, read
from openbrain.vault.markers.markers import render
from openbrain.vault.pages.arc_parsing import parse_arc
from openbrain.vault.pages.arcs import Arc
from openbrain.vault.values import Marker
from openbrain_tick.plan.plan import Plan


@dataclass(frozen=True, slots=True)
class Write:
    """The new text of a file; None removes it."""

    path: str
    text: str | None


def arc_of(plan: Plan, arc_id: str) -> Arc:
    """The unmerged arc with this id. `Conflict` if it is gone."""
    named = next((arc for arc in plan.pages.values() if arc.id == arc_id and not arc.merged), None)
    if named is None:
        raise Conflict(f"the arc {arc_id} is not there any more")
    return named


def page_of(plan: Plan, arc: Arc) -> Page:
    """A page in its planned state. If it has no creation date, add the day of its last change, because its mtime is
    about to change. `Conflict` if it is gone, `Invalid` if it can't be read."""
    text = plan.draft.text(arc.path)
    if text is None:
        raise Conflict(f"{arc.path} is not there any more")
    page = read(text, arc.path)
    if arc.dated or page.front.broken or "created" in page.front:
        return page
    return replace(page, front=page.front.with_values({"created": to_iso(arc.created_us)[:10]}))


def is_there(plan: Plan, path: str) -> bool:
    """True if there is a file at this path in the plan."""
    return plan.draft.text(path) is not None


def apply_writes(plan: Plan, writes: list[Write]) -> None:
    """Put the writes into the plan, so that later items see them."""
    for write in writes:
        old = plan.pages.pop(write.path, None)
        if write.text is None:
            plan.draft.remove(write.path)
            continue
        plan.draft.write(write.path, write.text)
        plan.pages[write.path] = parse_arc(write.path, write.text, old.created_us * 1000 if old else plan.now_us * 1000)


def edge_mark(kind: str, target: str) -> str:
    return render(Marker("edge", {"type": kind, "target": target}))
