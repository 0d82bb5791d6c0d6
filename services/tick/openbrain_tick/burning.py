"""What the incidents of a vault need of the truth."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from openbrain.domain.signals.values import Signal
from openbrain.domain.visibility import Viewer
from openbrain.ports.signals import Signals
from openbrain.vault.pages.arcs import Arc
from openbrain_tick.phases.incidents import unclosed

MOST = 1000
"""Signals that are looked at; `Present` begins with the strongest."""


@dataclass(frozen=True, slots=True)
class Burning:
    """As `phases.incidents.incidents` takes it."""

    open_signals: Sequence[Signal]
    ended: Mapping[str, Signal | None]


async def burning(workspace_id: str, pages: Iterable[Arc], signals: Signals) -> Burning:
    """The signals that burn, and what became of those whose incidents are not closed."""
    viewer = Viewer(workspace_id=workspace_id, agent_id="")
    present = await signals.present(viewer, MOST)
    burn = {signal.id for signal in present.signals}
    rows = {each: await signals.signal(viewer, each) for each in sorted(unclosed(pages) - burn)}
    return Burning(present.signals, {each: row for each, row in rows.items() if row is None or not row.state.open})
