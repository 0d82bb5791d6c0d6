"""Pure rules that check whether a vault's pipeline runs, for the housekeeper and for `/health/pipeline`.

Each finding is raised as a signal, once per occasion. Signals that this system raises about itself are ignored.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from openbrain.domain.signals.values import Signal

SOURCE: Final = "openbrain.pipeline"
"""Source of the signals raised for findings."""
SELF: Final = "openbrain."
"""Prefix of the sources of signals that this system raises about itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """Time limits, in microseconds."""

    late: int
    """Maximum time between two requested ticks, and between two completed ticks."""
    unheard: int
    """Maximum time until a severe signal is acknowledged."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A part of the pipeline that does not work. `key` identifies the occasion."""

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
    """Problems at `now`. `since`: when maintenance of the vault began; used until its first tick. `requested`,
    `completed`: times of its ticks. `unheard`: severe signals that nobody has acknowledged."""
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
