"""Updates the heat of every arc, and moves cold, old arcs to the long-term folder of their region."""

from typing import Final

from openbrain.vault.pages.arcs import Arc
from openbrain_tick.plan.arcs.heat import age_days, heat_of, replays
from openbrain_tick.plan.plan import Plan

FOLDERS: Final = {
    "left-hemisphere": "left",
    "right-hemisphere": "right",
    "left": "left",
    "right": "right",
    "bridge": "bridge",
    "amygdala": "amygdala",
    "pineal": "pineal",
}
"""Long-term folder per region; `left` for any other region."""
GRADUATED: Final = "graduated"


def update_heat(plan: Plan) -> None:
    """Write the current heat where it changed; cold, old arcs graduate in the same pass.

    A graduated arc is no longer active, which lowers its heat; so both change in this tick.
    """
    arcs = plan.arcs()
    plan.counts["arcs_scanned"] = len(arcs)
    now_us, thresholds = plan.now_us, plan.thresholds
    warmed = replays(arcs, now_us, thresholds)
    for arc in arcs:
        replayed = warmed[arc.id] if warmed else 0
        heat = heat_of(arc, replayed, now_us, thresholds)
        if heat <= thresholds.graduate_heat and _is_old(plan, arc) and _graduate(plan, arc, heat, replayed):
            continue
        if heat != arc.heat:
            plan.pages[arc.path] = _heated(plan, arc, heat)


def _is_old(plan: Plan, arc: Arc) -> bool:
    return (
        arc.writable
        and arc.path.startswith("clusters/")
        and age_days(arc, plan.now_us) > plan.thresholds.graduate_age_days
    )


def _heated(plan: Plan, arc: Arc, heat: int) -> Arc:
    if not arc.writable:
        return arc._replace(heat=heat)
    plan.counts["heat_changes"] += 1
    edited = plan.edit(arc, {"heat": heat}, quiet=True)
    return edited if edited.heat == heat else edited._replace(heat=heat)


def _graduate(plan: Plan, arc: Arc, heat: int, replayed: int) -> bool:
    """Move an arc to its long-term folder. False if another page has its name there: renaming would make it another
    arc."""
    to = f"{FOLDERS.get(arc.region, 'left')}/{arc.path.rsplit('/', 1)[1]}"
    if to in plan.pages or not plan.vacant(to):
        plan.problem(arc.path, f"can't graduate to {to}, which is another page: rename one of the two")
        return False
    values: dict[str, str | int] = {}
    if plan.thresholds.graduate_status:
        values["status"] = GRADUATED
        heat = heat_of(arc._replace(status=GRADUATED), replayed, plan.now_us, plan.thresholds)
    if heat != arc.heat:
        values["heat"] = heat
        plan.counts["heat_changes"] += 1
    moved = plan.edit(arc, values, to=to, quiet=True)
    if not moved.ranked:
        # Outside of clusters/ its name alone does not make it an arc.
        moved = plan.edit(moved, {"cluster_id": arc.id}, quiet=True)
    plan.counts["graduations"] += moved.path == to
    plan.pages[moved.path] = moved if moved.heat == heat else moved._replace(heat=heat)
    return True
