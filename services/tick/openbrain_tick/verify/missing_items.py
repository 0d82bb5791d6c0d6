"""Verifies that every applied item is on the disk, by reading the vault again."""

from collections.abc import Collection, Iterable, Mapping

from openbrain.vault.pages.arc_parsing import RESOLVED
from openbrain.vault.pages.arcs import Arc
from openbrain_tick.plan.plan_only import plan_only
from openbrain_tick.plan.reasoning.answer.items import Answer
from openbrain_tick.plan.reasoning.apply_answer import AppliedAnswer
from openbrain_tick.plan.reasoning.split import part_id
from openbrain_tick.report import Report
from openbrain_tick.vaults import Vault


async def verify(vault: Vault, now_us: int, applied: AppliedAnswer, report: Report) -> None:
    """Read the vault again, and report the applied items that it does not show."""
    done = applied.outcome.done
    with report.phase("verify") as phase:
        seen = await plan_only(vault, now_us, lambda plan: list(plan.pages.values()))
        lacking = missing(applied.accepted, done, seen.made)
        phase["stats"] = {"looked_for": len(done), "missing": list(lacking)}


def missing(accepted: Answer, done: Collection[str], pages: Iterable[Arc]) -> tuple[str, ...]:
    """Items of `done` that the pages don't show, such as `edges[3]`."""
    missing_pages = list(pages)
    arcs = {arc.id: arc for arc in missing_pages if not arc.merged}
    absorbed = {merge.absorb for place, merge in accepted.merges.items() if place in done}
    checks: dict[str, bool] = {
        **{
            place: edge.source in arcs and edge.target in arcs[edge.source].links
            for place, edge in accepted.edges.items()
        },
        **{place: m.absorb not in arcs and m.keep in arcs for place, m in accepted.merges.items()},
        **{
            place: split.arc in arcs and all(part_id(arcs[split.arc], part) in arcs for part in split.into)
            for place, split in accepted.splits.items()
        },
        **{place: bool(_of(arcs, summary.arc, "summary")) for place, summary in accepted.summaries.items()},
        **{place: bool(_of(arcs, synthesis.arc, "synthesized")) for place, synthesis in accepted.syntheses.items()},
        **_signals(accepted, missing_pages),
    }
    # The edges of an absorbed arc are now in the arc that absorbed it.
    moved = {place for place, edge in accepted.edges.items() if edge.source in absorbed}
    return tuple(place for place in done if not checks.get(place, True) and place not in moved)


def _of(arcs: Mapping[str, Arc], arc_id: str, name: str) -> object:
    return getattr(arcs[arc_id], name) if arc_id in arcs else None


def _signals(accepted: Answer, pages: Iterable[Arc]) -> dict[str, bool]:
    if not accepted.signals:
        return {}
    severities: dict[str, set[str]] = {}
    for arc in pages:
        for mark in () if arc.merged else arc.signals:
            if mark.severity != RESOLVED:
                severities.setdefault(mark.identity, set()).add(mark.severity)
    return {
        place: severities.get(change.signal or "", set()) == (set() if change.op == "clear" else {change.severity})
        for place, change in accepted.signals.items()
    }
