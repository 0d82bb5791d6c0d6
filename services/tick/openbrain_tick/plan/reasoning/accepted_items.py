"""Applies accepted items to the plan of a tick. Each is applied completely or not at all, and sees the earlier ones."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from openbrain.domain.errors import Conflict, Invalid
from openbrain.vault.front_matter.document import Page
from openbrain.vault.markers import markers
from openbrain.vault.values import Marker
from openbrain_tick.plan.arcs.signals import change_severity, resolve_marks
from openbrain_tick.plan.plan import Plan
from openbrain_tick.plan.reasoning.answer.items import Answer, Edge, Refused, SignalChange, Summary, Synthesis
from openbrain_tick.plan.reasoning.merge import merge
from openbrain_tick.plan.reasoning.page_edits import Write, apply_writes, arc_of, edge_mark, page_of
from openbrain_tick.plan.reasoning.sections import add
from openbrain_tick.plan.reasoning.split import split

PLACEHOLDER = "<!-- synthesized: false -->"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The applied items, such as `edges[3]`, and those that could not be applied."""

    done: tuple[str, ...]
    refused: tuple[Refused, ...]


def apply_items(accepted: Answer, plan: Plan) -> Outcome:
    """Apply the items. One that can't be applied, or already is, does not affect the others."""
    done: list[str] = []
    refused: list[Refused] = []
    for kind, make in _WRITES_OF.items():
        for place, item in getattr(accepted, kind).items():
            try:
                apply_writes(plan, make(item, plan))
            except (Invalid, Conflict) as error:
                refused.append(Refused(place, str(error)))
            else:
                done.append(place)
    return Outcome(tuple(done), tuple(refused))


def _edge(item: Edge, plan: Plan) -> list[Write]:
    arc = arc_of(plan, item.source)
    arc_of(plan, item.target)
    if item.target in arc.links:
        raise Conflict("this arc has an edge to that one")
    page = page_of(plan, arc)
    body = add(page.body, "Edges", [edge_mark(item.type, item.target)], before="Source sessions")
    return [Write(arc.path, replace(page, body=body).text())]


def _signal(item: SignalChange, plan: Plan) -> list[Write]:
    """Change every mark of this identity, in all pages: together they are one signal."""
    name = item.signal or ""
    if item.op == "clear":
        changed = resolve_marks(plan, {name: item.reason or "by the tick"})
    else:
        changed = change_severity(plan, {name: item.severity or ""})
    if not changed:
        raise Conflict("no mark of this signal could be changed")
    return []


def _summary(item: Summary, plan: Plan) -> list[Write]:
    arc = arc_of(plan, item.arc)
    page = page_of(plan, arc)
    if page.front.text("summary"):
        raise Conflict("the arc has a summary")
    return [Write(arc.path, replace(page, front=page.front.with_values({"summary": item.text})).text())]


def _synthesis(item: Synthesis, plan: Plan) -> list[Write]:
    arc = arc_of(plan, item.arc)
    page = page_of(plan, arc)
    if arc.synthesized:
        raise Conflict("the arc is synthesised")
    made = replace(page, front=page.front.with_values({"synthesized": True}), body=_body(page, item))
    return [Write(arc.path, made.text())]


def _body(page: Page, item: Synthesis) -> str:
    body = "".join(line for line in page.body.splitlines(keepends=True) if line.strip() != PLACEHOLDER)
    known = {marker.content for marker in markers.parse(body, "").markers if marker.type == "lesson"}
    new = [Marker("lesson", {}, lesson, block=True) for lesson in item.lessons if lesson not in known]
    if item.timeline:
        body = add(body, "Completed", [f"- {line}" for line in item.timeline], before="Errors / learning", level=3)
    if item.resolution:
        body = add(body, "Resolution", [item.resolution], before="Lessons to reproduce", level=3)
    return add(body, "Lessons to reproduce", [*map(markers.render, new)], before="Edges") if new else body


# Edges before merges, so that a merge takes them along.
_WRITES_OF: Mapping[str, Callable[[Any, Plan], list[Write]]] = {
    "edges": _edge,
    "signals": _signal,
    "merges": merge,
    "splits": split,
    "summaries": _summary,
    "syntheses": _synthesis,
}
