"""Acknowledgements by agents without HTTP: of signals, broadcasts and halts. Each also records the agent's presence."""

from collections import defaultdict
from collections.abc import Sequence

from openbrain.domain.access.visibility import Viewer
from openbrain.domain.errors import Invalid, OpenBrainError
from openbrain.domain.events.data import SignalAcknowledged
from openbrain.domain.signals.values import Step, Subscriber
from openbrain.ports.store.signals import Halts, SignalChange, Signals
from openbrain.ports.store.store import Store
from openbrain_amygdala.handlers.signal_raised import BoundEntry, happened

VIA = "redis"
Acknowledgement = BoundEntry[SignalAcknowledged]


async def record_acknowledgements(
    entries: Sequence[Acknowledgement], *, store: Store, now: int
) -> list[Exception | None]:
    """Record a batch. Return for each None, or why it was refused for good. `now`: microseconds.

    Acknowledgements of a halt are recorded together, because a whole fleet sends them at once.
    """
    results: list[Exception | None] = [None] * len(entries)
    stopped: dict[tuple[str, str], list[int]] = defaultdict(list)
    for index, entry in enumerate(entries):
        data = entry.event.data
        if data.action == "ack" and data.halt_id:
            stopped[_workspace(entry), data.halt_id].append(index)
        elif data.action != "seen":
            results[index] = await _change(entry, store.signals)
    for (workspace, halt_id), indexes in stopped.items():
        agents = [entries[index].event.data.agent_id for index in indexes]
        refused = await _stop(workspace, halt_id, agents, store.halts)
        for index in indexes:
            results[index] = refused
    await store.broadcasts.record_presence(
        [_listener(item, now) for item, result in zip(entries, results, strict=True) if result is None]
    )
    return results


async def _change(entry: Acknowledgement, signals: Signals) -> Exception | None:
    data, workspace = entry.event.data, _workspace(entry)
    if not data.signal_id and not data.seq:
        return Invalid("data.signal_id", "name the signal, or the seq of its broadcast")
    change = SignalChange(
        workspace_id=workspace,
        step=Step.RESOLVED if data.action == "resolve" else Step.ACKNOWLEDGED,
        viewer=Viewer(workspace_id=workspace, agent_id=data.agent_id),
        actor=data.agent_id,
        signal_id=data.signal_id or "",
        seq=data.seq,
    )
    try:
        await signals.change_signal(change)
    except OpenBrainError as error:
        return error
    return None


async def _stop(workspace: str, halt_id: str, agents: Sequence[str], halts: Halts) -> Exception | None:
    try:
        await halts.ack_halt(Viewer(workspace_id=workspace, agent_id=agents[0]), halt_id, agents)
    except OpenBrainError as error:
        return error
    return None


def _listener(entry: Acknowledgement, now: int) -> Subscriber:
    data = entry.event.data
    return Subscriber(
        workspace_id=_workspace(entry),
        agent_id=data.agent_id,
        cursor=data.seq or 0,
        via=VIA,
        org=data.org or "",
        project=data.project or "",
        seen_at=happened(entry.id, now),
    )


def _workspace(entry: Acknowledgement) -> str:
    return entry.workspace or entry.event.data.workspace_id
