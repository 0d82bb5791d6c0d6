"""Whether the vault's own pipeline runs: pure rules over what was seen, for the housekeeper and for `/health/pipeline`.

What is found is raised as a signal, once an occasion. Nothing of it is looked at by these rules again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from openbrain.domain.signals.values import Signal

SOURCE: Final = "openbrain.pipeline"
"""Of the signals that are raised of findings."""
SELF: Final = "openbrain."
"""Begins every source by which this system speaks of itself."""


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
    now: int,
    since: int,
    requested: Sequence[int],
    completed: Sequence[int],
    unheard: Sequence[Signal],
    patience: Patience,
) -> list[Finding]:
    """Problems at `now`. `since` is when the vault began to be kept: time counts from there before the first tick.
    `requested`, `completed`: when its ticks were; `unheard`: grave signals that nobody has acknowledged."""
    late: list[Finding] = []
    last = max(requested, default=since)
    good = max(completed, default=min(requested, default=since))
    if now - last > patience.late:
        late.append(Finding("tick", f"tick:{last}", "No tick was asked for since longer than its schedule allows"))
    elif now - good > patience.late:
        late.append(Finding("feed", f"feed:{good}", "The feed is stale: ticks are asked for, and none completes"))
    late += [
        Finding("signal", f"signal:{item.id}", f"Nobody has acknowledged a {item.severity} signal")
        for item in unheard
        if not item.source.startswith(SELF) and now - item.first_raised_at > patience.unheard
    ]
    return late
