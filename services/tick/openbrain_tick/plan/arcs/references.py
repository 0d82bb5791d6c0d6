"""References: small files in frontal-lobe that refer to arcs. The arcs stay where they are."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Final

from openbrain.domain.errors import Invalid
from openbrain.vault.front_matter import document
from openbrain.vault.pages.arcs import Arc
from openbrain.vault.pages.bodies import clipped
from openbrain_tick.plan.plan import Plan

CONSCIOUS: Final = "frontal-lobe/conscious"
UNCONSCIOUS: Final = "frontal-lobe/unconscious"
_NOT_IN_LINKS = re.compile(r"[\[\]|\r\n]+")


def promote(plan: Plan) -> None:
    """Put references to hot arcs into `conscious`, and to arcs that were there and cooled into `unconscious`. Both have
    a maximum size."""
    thresholds = plan.thresholds
    arcs = {arc.id: arc for arc in plan.arcs()}
    were, cooled = _members(plan)
    warm = (
        arc
        for arc in arcs.values()
        if (arc.heat or 0) >= thresholds.promote_heat or (arc.id in were and (arc.heat or 0) >= thresholds.demote_heat)
    )
    hot = hottest(warm, thresholds.conscious_limit)
    chosen = {arc.id for arc in hot}
    left = (arcs[name] for name in (were | cooled) - chosen if name in arcs)
    rest = hottest(left, thresholds.unconscious_limit)
    plan.counts["promotions"] += len(chosen - were)
    plan.counts["demotions"] += len(were - chosen)
    wanted = {f"{CONSCIOUS}/{arc.id}.md": arc for arc in hot} | {f"{UNCONSCIOUS}/{arc.id}.md": arc for arc in rest}
    _write(plan, wanted)


def hotter(arc: Arc) -> tuple[int, int, str]:
    """Sort key: hottest first, then newest."""
    return (-(arc.heat or 0), -arc.created_us, arc.id)


def reference(arc: Arc) -> str:
    """Text of a reference file, with a link that people can follow too."""
    target = arc.path.removesuffix(".md")
    title = clipped(_NOT_IN_LINKS.sub(" ", arc.title).strip(), 120) or arc.id
    return f"---\nreference: {json.dumps(arc.path, ensure_ascii=False)}\n---\n\n[[{target}|{title}]]\n"


def hottest(arcs: Iterable[Arc], most: int) -> list[Arc]:
    """The hottest arcs, at most `most`, in order."""
    arcs = list(arcs)
    if len(arcs) > most > 0:
        least = sorted((arc.heat or 0 for arc in arcs), reverse=True)[most - 1]
        arcs = [arc for arc in arcs if (arc.heat or 0) >= least]
    return sorted(arcs, key=hotter)[:most]


def _members(plan: Plan) -> tuple[set[str], set[str]]:
    """Ids of the arcs with a reference in `conscious` and in `unconscious`, or a copy there made by an earlier
    system."""
    members: dict[str, set[str]] = {CONSCIOUS: set(), UNCONSCIOUS: set()}
    for paths in (plan.scan.references, (arc.path for arc in plan.shadowed), plan.pages):
        for path in paths:
            folder, _, name = path.rpartition("/")
            if folder in members:
                members[folder].add(name.removesuffix(".md"))
    return members[CONSCIOUS], members[UNCONSCIOUS]


def _write(plan: Plan, wanted: Mapping[str, Arc]) -> None:
    copies = {arc.path: arc for arc in plan.shadowed if arc.path.startswith((f"{CONSCIOUS}/", f"{UNCONSCIOUS}/"))}
    kept = {path for path, copy in copies.items() if not _is_copy(plan, copy)}
    counting = {arc.id: arc.path for arc in plan.pages.values() if arc.ranked}
    for arc in plan.shadowed:
        if not arc.merged and arc.id in counting and (arc.path not in copies or arc.path in kept):
            reason = f"has the id of {counting[arc.id]}, which is the one that counts: join the two, then remove this"
            plan.problem(arc.path, reason)
    for path in (plan.references | (copies.keys() - kept)) - wanted.keys():
        if path.startswith((f"{CONSCIOUS}/", f"{UNCONSCIOUS}/")):
            plan.put(path, None)
    for path, arc in wanted.items():
        if path not in kept and path not in plan.pages:
            plan.put(path, reference(arc))
            plan.references.add(path)


def _is_copy(plan: Plan, copy: Arc) -> bool:
    """True if the file has the same content as its arc; only heat, status and created may differ."""
    texts = [plan.text(arc.path) for arc in (copy, *(arc for arc in plan.arcs() if arc.id == copy.id))]
    return len({_content(text) for text in texts}) == 1


def _content(text: str | None) -> str:
    page = document.read(text or "", "")
    try:
        return page.front.with_values({"heat": None, "status": None, "created": None}).whole() + page.body
    except Invalid:
        return page.text()
