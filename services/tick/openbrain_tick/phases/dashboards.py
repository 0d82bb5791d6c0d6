"""A table of its arcs in every folder of a day."""

from typing import Final

from openbrain.vault.arcs import Arc
from openbrain_tick.phases.feed import cell
from openbrain_tick.phases.plan import Plan
from openbrain_tick.phases.references import hotter

_TITLE_CHARS: Final = 80


def dashboards(plan: Plan) -> None:
    """`_dashboard.md` of each folder in clusters/; where no arc is left, none."""
    days: dict[str, list[Arc]] = {}
    for arc in plan.arcs():
        folder, _, _ = arc.path.rpartition("/")
        if folder.startswith("clusters/"):
            days.setdefault(folder, []).append(arc)
    for folder, arcs in days.items():
        plan.put(f"{folder}/_dashboard.md", _dashboard(folder.removeprefix("clusters/"), arcs))
    for path in plan.scan.dashboards:
        if path.startswith("clusters/") and path.rpartition("/")[0] not in days:
            plan.put(path, None)


def _dashboard(day: str, arcs: list[Arc]) -> str:
    rows = [
        f"| [[{cell(arc.id)}]] | {arc.heat or 0} | {cell(arc.region)} | {cell(arc.status)} "
        f"| {cell(arc.title)[:_TITLE_CHARS]} |"
        for arc in sorted(arcs, key=hotter)
    ]
    head = [f"# Cluster Dashboard — {day}", "", "| Arc | Heat | Region | Status | Title |", "|---|---|---|---|---|"]
    return "\n".join([*head, *rows, ""])
