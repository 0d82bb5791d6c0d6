"""Changes of signals and halts by people and agents."""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection, select

from openbrain.adapters.sql.schema.inserts import insert_rows
from openbrain.adapters.sql.schema.signal_tables import broadcasts, halt_acks, halts, signal_acks, signals
from openbrain.adapters.sql.signals.broadcast_log import BroadcastLog
from openbrain.adapters.sql.signals.rows import (
    halt_of,
    halts_of,
    no_halt,
    no_signal,
    of_viewer,
    one_halt,
    one_signal,
    save_halt,
)
from openbrain.domain.access.visibility import Viewer
from openbrain.domain.errors import Conflict
from openbrain.domain.signals.rules import SignalTimes, acknowledged, resolved, resumed
from openbrain.domain.signals.values import Halt, Signal, Step
from openbrain.ports.store.signals import SignalChange


def visible_halt(connection: Connection, viewer: Viewer, halt_id: str) -> Halt:
    """Return a halt, without its title if its org is hidden. `NotFound` if it does not concern the viewer."""
    halt = one_halt(connection, (halts.c.id == halt_id) & halts_of(viewer))
    if halt is None:
        raise no_halt()
    return without_hidden_org(halt, viewer)


def without_hidden_org(halt: Halt, viewer: Viewer) -> Halt:
    return halt if viewer.sees_org(halt.org) else replace(halt, title="", raised_by="", org="", project="", note="")


def change(connection: Connection, change: SignalChange, now: int, times: SignalTimes) -> Signal:
    signal_id = change.signal_id or _acknowledge(connection, change)
    this = (signals.c.id == signal_id) & of_viewer(change.viewer) & (signals.c.workspace_id == change.workspace_id)
    # Checked before the lock: an id of another workspace must not block this one.
    if one_signal(connection, this) is None:
        raise no_signal()
    log = BroadcastLog(connection, change.workspace_id, now, times)
    signal = one_signal(connection, this)
    if signal is None:
        raise no_signal()
    covered = change.seq is None or signal.worsened_seq <= change.seq
    if change.step is Step.ACKNOWLEDGED:
        insert_rows(connection, signal_acks, [(signal.id, change.actor, change.workspace_id, now)], missing=True)
        after = acknowledged(signal, change.actor, now) if covered else signal
    elif covered or not signal.state.open:
        after = resolved(signal, change.actor, change.note, now)
    else:
        raise Conflict("this signal's severity has risen since: look at it again before you resolve it")
    if after == signal:
        return signal
    after = log.signal(after, halt_of(connection, signal.id), change.step, change.actor, note=change.note)
    log.write()
    return after


def _acknowledge(connection: Connection, change: SignalChange) -> str:
    this = broadcasts.c.workspace_id == change.workspace_id, broadcasts.c.seq == (change.seq or 0)
    signal_id = connection.scalar(select(broadcasts.c.signal_id).where(*this))
    if signal_id is None:
        raise no_signal()
    return str(signal_id)


def ack_halt(connection: Connection, viewer: Viewer, halt_id: str, agent_ids: Sequence[str], now: int) -> Halt:
    halt = visible_halt(connection, viewer, halt_id)
    rows = [(halt_id, agent_id, viewer.workspace_id, now) for agent_id in sorted(set(agent_ids))]
    insert_rows(connection, halt_acks, rows, missing=True)
    return halt


def resume(
    connection: Connection, viewer: Viewer, halt_id: str, actor: str, note: str, now: int, times: SignalTimes
) -> Halt:
    visible_halt(connection, viewer, halt_id)
    log = BroadcastLog(connection, viewer.workspace_id, now, times)
    halt = one_halt(connection, halts.c.id == halt_id)
    signal = None if halt is None else one_signal(connection, signals.c.id == halt.signal_id)
    if halt is None or signal is None:
        raise no_halt()
    after = resumed(halt, actor, note, now)
    if after != halt:
        logged = log.signal(signal, after, Step.RESUMED, actor, note=note)
        after = replace(after, seq=logged.seq)
        save_halt(connection, after, new=False)
        log.write()
    return without_hidden_org(after, viewer)
