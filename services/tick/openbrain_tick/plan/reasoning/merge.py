"""Merges one arc into another: its text, sessions and edges move along, and its file stays as `<id>.merged.md`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from openbrain.domain.errors import Conflict
from openbrain.vault.front_matter.document import Front, Page
from openbrain.vault.front_matter.rendering import Value
from openbrain.vault.markers import markers
from openbrain.vault.pages.arcs import Arc
from openbrain.vault.values import Marker
from openbrain_tick.plan.plan import Plan
from openbrain_tick.plan.reasoning.answer.items import Merge
from openbrain_tick.plan.reasoning.page_edits import Write, arc_of, edge_mark, is_there, page_of
from openbrain_tick.plan.reasoning.sections import add, sections


def merge(item: Merge, plan: Plan) -> list[Write]:
    """The files to write. `Conflict` if the merge was done before, or the new name of the absorbed file is taken."""
    keep, absorb = arc_of(plan, item.keep), arc_of(plan, item.absorb)
    merged_path = absorb.path.removesuffix(".md") + ".merged.md"
    if is_there(plan, merged_path):
        raise Conflict(f"{merged_path} is there already")
    into, absorbed = page_of(plan, keep), page_of(plan, absorb)
    heading = f"Merged from {absorb.id}"
    if any(section.title == heading for section in sections(into.body)):
        raise Conflict(f"{absorb.id} is already merged into {keep.id}")
    body = _with_edges(into.body, keep, absorb, absorbed)
    body = f"{body.rstrip()}\n\n## {heading}\n\n{_new_text(absorbed.body, into.body)}\n"
    union = _union(into.front, absorbed.front)
    if absorb.last_activity_us > keep.last_activity_us:
        union["last_activity"] = absorbed.front.text("last_activity")
    front = into.front.with_values({"title": item.title, **union})
    left = absorbed.front.with_values({"status": "merged", "merged_into": keep.id})
    return [
        Write(keep.path, replace(into, front=front, body=body).text()),
        Write(absorb.path, None),
        Write(merged_path, replace(absorbed, front=left).text()),
    ]


def _union(keep: Front, absorb: Front) -> dict[str, Value]:
    """The sessions of both. Their counts are added if they share no session; otherwise the larger one counts."""
    ours, theirs = keep.strings("source_sessions"), absorb.strings("source_sessions")
    values: dict[str, Value] = {}
    if theirs:
        values["source_sessions"] = list(dict.fromkeys((*ours, *theirs)))
    counted, other = _counts(keep), _counts(absorb)
    if other:
        pairs = {name: (counted.get(name, 0), other.get(name, 0)) for name in (*counted, *other)}
        twice = bool(set(ours) & set(theirs))
        values["signals"] = {name: max(pair) if twice else sum(pair) for name, pair in pairs.items()}
    return values


def _counts(front: Front) -> dict[str, int]:
    given: Any = front.get("signals")
    return {
        str(name): count
        for name, count in (given.items() if isinstance(given, Mapping) else ())
        if isinstance(count, int) and not isinstance(count, bool)
    }


def _with_edges(body: str, keep: Arc, absorb: Arc, absorbed: Page) -> str:
    """Add the absorbed arc's edges whose targets have no edge yet."""
    there = {marker.attrs.get("target") for marker in markers.parse(body, "").markers if marker.type == "edge"}
    there |= {*keep.links, keep.id, absorb.id}
    written = [
        (marker.attrs.get("type", "related"), marker.attrs.get("target", ""))
        for marker in markers.parse(absorbed.body, "").markers
        if marker.type == "edge"
    ]
    new: list[str] = []
    for kind, target in [*absorb.edges, *written]:
        if target and target not in there:
            there.add(target)
            new.append(edge_mark(kind, target))
    return add(body, "Edges", new, before="Source sessions") if new else body


def _new_text(body: str, known: str) -> str:
    """The absorbed text without its edges and without blocks that the other arc already has."""
    known_keys = {_key(marker) for marker in markers.parse(known, "").markers if marker.block}
    cut: list[tuple[int, int]] = []
    for marker in markers.parse(body, "").markers:
        inside = cut and marker.start < cut[-1][1]
        if not inside and (marker.type == "edge" or (marker.block and _key(marker) in known_keys)):
            cut.append((marker.start, marker.end))
    for start, end in reversed(cut):
        body = body[:start] + body[end:]
    return body.strip()


def _key(marker: Marker) -> tuple[str, str, str]:
    return marker.type, marker.attrs.get("source", ""), marker.content
