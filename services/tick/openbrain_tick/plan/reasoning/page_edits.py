"""Pages as an item of an answer wants them: thought out whole before any of it stands in the plan."""

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
    """A file as it shall be; None: gone."""

    path: str
    text: str | None


def arc_of(plan: Plan, arc_id: str) -> Arc:
    """`Conflict` where it is gone."""
    named = next((arc for arc in plan.pages.values() if arc.id == arc_id and not arc.merged), None)
    if named is None:
        raise Conflict(f"the arc {arc_id} is not there any more")
    return named


def page_of(plan: Plan, arc: Arc) -> Page:
    """A page as the plan has it; with the day of its last change where it does not say its age, for that is about to
    change. `Conflict` where it is gone, `Invalid` where it can't be read."""
    text = plan.draft.text(arc.path)
    if text is None:
        raise Conflict(f"{arc.path} is not there any more")
    page = read(text, arc.path)
    if arc.dated or page.front.broken or "created" in page.front:
        return page
    return replace(page, front=page.front.with_values({"created": to_iso(arc.created_us)[:10]}))


def is_there(plan: Plan, path: str) -> bool:
    """Whether the plan leaves a file of this name."""
    return plan.draft.text(path) is not None


def put(plan: Plan, writes: list[Write]) -> None:
    """Into the plan, so that what follows sees it."""
    for write in writes:
        had = plan.pages.pop(write.path, None)
        if write.text is None:
            plan.draft.remove(write.path)
            continue
        plan.draft.write(write.path, write.text)
        plan.pages[write.path] = parse_arc(write.path, write.text, had.created_us * 1000 if had else plan.now_us * 1000)


def edge_mark(kind: str, target: str) -> str:
    return render(Marker("edge", {"type": kind, "target": target}))
