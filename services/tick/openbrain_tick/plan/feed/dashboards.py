"""Dashboards: a table of its arcs in every day's folder."""

from functools import lru_cache
from typing import Final

from openbrain.vault.pages.arcs import Arc
from openbrain.vault.pages.bodies import clipped
from openbrain_tick.plan.arcs.references import hotter
from openbrain_tick.plan.feed.feed_files import cell
from openbrain_tick.plan.plan import Plan

_TITLE_CHARS: Final = 80


def dashboards(plan: Plan) -> None:
    """Write `_dashboard.md` in each folder of clusters/; remove it if no arc is left there."""
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
    rows = [_row(arc.id, arc.heat or 0, arc.region, arc.status, arc.title) for arc in sorted(arcs, key=hotter)]
    head = [f"# Cluster Dashboard — {day}", "", "| Arc | Heat | Region | Status | Title |", "|---|---|---|---|---|"]
    return "\n".join([*head, *rows, ""])


# Cached, because almost all rows stay the same from tick to tick.
@lru_cache(maxsize=65_536)
def _row(arc_id: str, heat: int, region: str, status: str, title: str) -> str:
    return f"| [[{cell(arc_id)}]] | {heat} | {cell(region)} | {cell(status)} | {clipped(cell(title), _TITLE_CHARS)} |"
