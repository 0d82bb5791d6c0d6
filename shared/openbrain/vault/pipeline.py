"""Whether the vault's own pipeline runs: pure rules over what was seen, for the housekeeper and for `/health/pipeline`.

What is found is raised as a signal, once an occasion. Nothing of it is looked at by these rules again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

SOURCE: Final = "openbrain.pipeline"
"""Of the signals that are raised of findings."""
SELF: Final = "openbrain."
"""Begins every source by which this system speaks of itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A tick that was no dry run. Times are microseconds."""

    requested_at: int
    completed_at: int | None = None
    """None for one that has failed, or is still to end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unheard:
    """A grave signal that nobody has acknowledged."""

    signal_id: str
    source: str
    severity: str
    first_raised_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """Time limits, in microseconds."""

    late: int
    """From one tick to the next, and from one good tick to the next."""
    unheard: int
    """Until a grave signal is acknowledged."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that does not run. `key` is the same for the same occasion."""

    check: str
    """tick, feed or signal."""
    key: str
    title: str


def findings(
    now: int, since: int, runs: Sequence[Run], unheard: Sequence[Unheard], patience: Patience
) -> list[Finding]:
    """Problems at `now`. `since` is when the vault began to be kept: time counts from there before the first
    tick."""
    late: list[Finding] = []
    requested = max((run.requested_at for run in runs), default=since)
    first = min((run.requested_at for run in runs), default=since)
    good = max((run.completed_at for run in runs if run.completed_at is not None), default=first)
    if now - requested > patience.late:
        late.append(Finding("tick", f"tick:{requested}", "No tick was asked for since longer than its schedule allows"))
    elif now - good > patience.late:
        late.append(Finding("feed", f"feed:{good}", "The feed is stale: ticks are asked for, and none completes"))
    late += [
        Finding("signal", f"signal:{item.signal_id}", f"Nobody has acknowledged a {item.severity} signal")
        for item in unheard
        if not item.source.startswith(SELF) and now - item.first_raised_at > patience.unheard
    ]
    return late
