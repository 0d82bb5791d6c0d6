"""Acknowledgements by agents without HTTP: seen, stopped, over, listening."""

from collections import defaultdict
from collections.abc import Sequence

from openbrain.domain.access.visibility import Viewer
from openbrain.domain.errors import Conflict, Invalid, OpenBrainError
from openbrain.domain.events.data import SignalAcknowledged
from openbrain.domain.signals.values import Step, Subscriber
from openbrain.ports.store.signals import Halts, SignalChange, Signals
from openbrain.ports.store.store import Store
from openbrain_amygdala.handlers.signal_raised import BoundEntry, happened

VIA = "redis"
Heard = BoundEntry[SignalAcknowledged]


async def hear_all(heard: Sequence[Heard], *, store: Store, now: int) -> list[Exception | None]:
    """Note what a batch says. A result for each: None, or why it was refused for good. `now`: microseconds.

    Halts are acknowledged together, for a whole fleet does it at once.
    """
    results: list[Exception | None] = [None] * len(heard)
    stopped: dict[tuple[str, str], list[int]] = defaultdict(list)
    for index, entry in enumerate(heard):
        data = entry.event.data
        if data.action == "ack" and data.halt_id:
            stopped[_workspace(entry), data.halt_id].append(index)
        elif data.action != "seen":
            results[index] = await _change(entry, store.signals)
    for (workspace, halt_id), indexes in stopped.items():
        agents = [heard[index].event.data.agent_id for index in indexes]
        refused = await _stop(workspace, halt_id, agents, store.halts)
        for index in indexes:
            results[index] = refused
    await store.broadcasts.record_presence(
        [_listener(item, now) for item, result in zip(heard, results, strict=True) if result is None]
    )
    return results


async def _change(heard: Heard, signals: Signals) -> Exception | None:
    data, workspace = heard.event.data, _workspace(heard)
    if not data.signal_id and not data.seq:
        return Invalid("data.signal_id", "name the signal, or the seq of what was heard")
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
    except Conflict:
        return None  # it has ended: whoever says so late has nothing more to do
    except OpenBrainError as error:
        return error
    return None


async def _stop(workspace: str, halt_id: str, agents: Sequence[str], halts: Halts) -> Exception | None:
    try:
        await halts.ack_halt(Viewer(workspace_id=workspace, agent_id=agents[0]), halt_id, agents)
    except OpenBrainError as error:
        return error
    return None


def _listener(heard: Heard, now: int) -> Subscriber:
    data = heard.event.data
    return Subscriber(
        workspace_id=_workspace(heard),
        agent_id=data.agent_id,
        cursor=data.seq or 0,
        via=VIA,
        org=data.org or "",
        project=data.project or "",
        seen_at=happened(heard.id, now),
    )


def _workspace(heard: Heard) -> str:
    return heard.workspace or heard.event.data.workspace_id
