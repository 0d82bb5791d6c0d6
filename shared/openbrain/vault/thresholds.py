"""All thresholds of vault maintenance, and two named presets."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """Heat is 0 to 10, ages are whole days since an arc was created. The defaults are the preset `spec`."""

    promote_heat: int = 7
    """Arcs with at least this heat get a reference page in frontal-lobe/conscious."""
    demote_heat: int = 5
    """Reference pages of arcs below this heat move to frontal-lobe/unconscious."""
    conscious_limit: int = 20
    unconscious_limit: int = 40
    graduate_heat: int = 1
    """An arc with at most this heat and older than `graduate_age_days` moves to the long-term folder of its region."""
    graduate_age_days: int = 7
    graduate_status: bool = False
    """Whether that move sets `status: graduated`, which also ends signals whose source the arc's `mitigates` names."""
    decay_start_days: int = 2
    decay_interval_days: int = 2
    """After `decay_start_days`, an arc loses one degree of heat per this many days."""
    sessions_free: int = 1
    """Sessions that add no heat: of n sessions, min(3, n - sessions_free) count."""
    replay_days: int = 14
    """An arc younger than this adds one degree to the arc it was replayed from."""
    stale_signal_days: int = 3
    """Signals below critical are hidden if their arc is older than this."""
    stale_inject_days: int = 30
    """Inject blocks are hidden if their arc is older than this (0: no limit). The marker's `ttl_days` overrides it."""
    hot_arcs: int = 10
    """Maximum number of rows in hot-arcs.md."""
    hot_arc_chars: int = 80
    """Maximum length of a row's last cell."""
    hot_arc_summaries: bool = False
    """Whether that cell shows the arc's summary if it has one; otherwise its title."""
    tombstone_after_s: int = 7200
    """How long a marker that the tick has resolved stays in its file."""
    health_rows: int = 10_000
    """Number of newest rows kept in health.jsonl."""


SPEC = Thresholds()
HEAD = replace(
    SPEC,
    promote_heat=5,
    # Same as promote_heat: an arc that is no longer hot enough to be promoted is demoted at once.
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
