"""Every number that the keeping of a vault goes by, and the two sets of them that have a name."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """Heat is 0 to 10, ages are whole days since an arc was created. The defaults are the set named `spec`."""

    promote_heat: int = 7
    """Arcs at least so hot come to mind: they get a reference in frontal-lobe/conscious."""
    demote_heat: int = 5
    """Reference pages go to frontal-lobe/unconscious below this heat."""
    conscious_limit: int = 20
    unconscious_limit: int = 40
    graduate_heat: int = 1
    """At most so hot and older than `graduate_age_days`: the arc moves to the long-term folder of its region."""
    graduate_age_days: int = 7
    graduate_status: bool = False
    """Whether the move sets `status: graduated`, which also ends what the arc's `mitigates` names."""
    decay_start_days: int = 2
    decay_interval_days: int = 2
    """From the start on an arc loses one degree every so many days."""
    sessions_free: int = 1
    """Sessions that warm nothing: of n sessions min(3, n - sessions_free) count."""
    replay_days: int = 14
    """An arc younger than this that was replayed from another warms that one by one degree."""
    stale_signal_days: int = 3
    """Signals below critical of older arcs are no longer shown."""
    stale_inject_days: int = 30
    """The days for inject blocks, whatever their severity; `ttl_days` of the marker wins; 0 for ever."""
    hot_arcs: int = 10
    """Rows of hot-arcs.md, at most."""
    hot_arc_chars: int = 80
    """Of a row's last cell, at most."""
    hot_arc_summaries: bool = False
    """Whether that cell is the arc's summary where it has one, else its title."""
    tombstone_after_s: int = 7200
    """A marker that the tick has resolved stays in its file for so long."""
    health_rows: int = 10_000
    """Kept in health.jsonl, the newest."""


SPEC = Thresholds()
HEAD = replace(
    SPEC,
    promote_heat=5,
    # Above it nothing is kept: whatever is no longer hot enough to be promoted leaves.
    demote_heat=5,
    graduate_age_days=14,
    graduate_status=True,
    decay_start_days=7,
    decay_interval_days=4,
    sessions_free=0,
    hot_arc_chars=220,
    hot_arc_summaries=True,
)
PRESETS = {"spec": SPEC, "head": HEAD}
