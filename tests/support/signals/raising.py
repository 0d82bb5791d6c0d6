"""Helpers for signals: raises, their broadcasts, and the state that a listener derives from them."""

from collections.abc import Sequence
from typing import Any

import orjson

from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.access.visibility import Viewer
from openbrain.domain.events.data import Broadcast
from openbrain.domain.events.envelope import CloudEvent, decode, event_type
from openbrain.domain.signals.values import Raise, Severity, Signal, Step
from openbrain.ports.store.signals import RaiseOutcome, SignalChange
from openbrain.ports.store.tenants import Workspace
from tests.support.store.fixtures import START, viewer


def raised(**changes: Any) -> Raise:
    """Return a disk warning, raised at START."""
    given: dict[str, Any] = {
        "workspace_id": "w1",
        "source": "disk",
        "severity": Severity.WARNING,
        "title": "disk full",
        "content": "sda1 at 95 %",
        "actor": "ada",
        "at": START,
    }
    return Raise(**(given | changes))


async def workspace(store: SqlStore, *names: str) -> None:
    """Create workspace w1, or these."""
    for name in names or ("w1",):
        await store.workspaces.create_workspace(Workspace(id=name, name=name, created_at=START))


async def raise_one(store: SqlStore, **changes: Any) -> RaiseOutcome:
    (outcome,) = await store.signals.raise_signals([raised(**changes)])
    return outcome


async def signal_of(store: SqlStore, **changes: Any) -> Signal:
    """Raise once; return the resulting signal."""
    outcome = await raise_one(store, **changes)
    assert outcome.signal is not None, outcome
    return outcome.signal


def change(signal: Signal, step: Step = Step.ACKNOWLEDGED, actor: str = "bob", **changes: Any) -> SignalChange:
    given: dict[str, Any] = {
        "workspace_id": "w1",
        "step": step,
        "viewer": viewer(),
        "actor": actor,
        "signal_id": signal.id,
    }
    return SignalChange(**(given | changes))


async def told(store: SqlStore, workspace_id: str = "w1", after: int = 0) -> list[Broadcast]:
    """Return every broadcast, decoded as an event."""
    rows = await store.broadcasts.broadcasts_after(workspace_id, after, 10_000)
    events = [decode(CloudEvent[Broadcast], row.body, event_type("amygdala.broadcast")) for row in rows]
    assert [(row.seq, row.signal_id) for row in rows] == [(each.data.seq, each.subject) for each in events]
    return [each.data for each in events]


async def steps(store: SqlStore) -> list[tuple[int, str, str, str]]:
    """Return (seq, change, state, severity) of every broadcast."""
    return [(each.seq, each.change.value, each.state.value, each.severity.value) for each in await told(store)]


def heard(broadcasts: Sequence[Broadcast]) -> dict[str, Broadcast]:
    """Return the state of a listener that has received all of these: the last broadcast of each signal."""
    return {each.signal_id: each for each in sorted(broadcasts, key=lambda each: each.seq)}


def of_org(*orgs: str, without_org: bool = False) -> Viewer:
    """Return a viewer limited to these orgs."""
    return viewer(orgs=orgs, without_org=without_org)


def fields(body: bytes) -> dict[str, Any]:
    """Return the data of an event."""
    data: dict[str, Any] = orjson.loads(body)["data"]
    return data
