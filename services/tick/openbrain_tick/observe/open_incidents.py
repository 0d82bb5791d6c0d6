"""Open incidents of a vault, from the database."""

from collections.abc import Iterable

from openbrain.domain.access.visibility import Viewer
from openbrain.domain.signals.values import Present
from openbrain.ports.store.signals import Signals
from openbrain.vault.pages.arcs import Arc
from openbrain_tick.plan.arcs.incidents import unclosed
from openbrain_tick.world import OpenIncidents

MOST = 1000
"""Signals that are looked at; `Present` begins with the strongest."""


async def open_incidents(workspace_id: str, present: Present, pages: Iterable[Arc], signals: Signals) -> OpenIncidents:
    """The signals that burn, of which `present` are the strongest, and what became of those whose incidents are not
    closed."""
    viewer = Viewer(workspace_id=workspace_id, agent_id="")
    burn = {signal.id for signal in present.signals}
    rows = {item: await signals.signal(viewer, item) for item in sorted(unclosed(pages) - burn)}
    return OpenIncidents(
        present.signals, {item: row for item, row in rows.items() if row is None or not row.state.open}
    )
