"""Timed changes of signals and halts, their final removal, and renumbering after a restore."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection, and_, delete, exists, select, update

from openbrain.adapters.sql.engine.statements import chunks
from openbrain.adapters.sql.schema.lifecycle_tables import without_hold
from openbrain.adapters.sql.schema.signal_tables import (
    broadcasts,
    halt_acks,
    halts,
    signal_acks,
    signal_history,
    signals,
)
from openbrain.adapters.sql.schema.tables import OPEN_WORKSPACE, workspaces
from openbrain.adapters.sql.signals.broadcast_log import BroadcastLog
from openbrain.adapters.sql.signals.rows import halt_of, one_halt, one_signal, save_halt
from openbrain.domain.errors import NotFound
from openbrain.domain.signals.rules import TIME, SignalTimes, halt_expired, swept
from openbrain.domain.signals.values import HaltState, SignalState, Step
from openbrain.ports.store.signals import Swept

_OPEN_HALT = halts.c.state == HaltState.OPEN.value


Ids = Sequence[Sequence[str]]
"""(workspace, id)."""


def due_rows(connection: Connection, limit: int, now: int) -> tuple[Ids, Ids]:
    # Skip workspaces that are being deleted: their signals are removed with them, and must not delay others.
    live = exists().where(workspaces.c.id == signals.c.workspace_id, OPEN_WORKSPACE)
    overdue = select(signals.c.workspace_id, signals.c.id).where(signals.c.due_at <= now, live)
    overdue = overdue.order_by(signals.c.due_at)
    live = exists().where(workspaces.c.id == halts.c.workspace_id, OPEN_WORKSPACE)
    halted = select(halts.c.workspace_id, halts.c.id).where(_OPEN_HALT, halts.c.expires_at <= now, live)
    return connection.execute(overdue.limit(limit)).all(), connection.execute(halted.limit(limit)).all()


def sweep(connection: Connection, due: Ids, ended: Ids, now: int, times: SignalTimes) -> Swept:
    done: Counter[Step] = Counter()
    for workspace_id in sorted({workspace for workspace, _ in (*due, *ended)}):
        try:
            log = BroadcastLog(connection, workspace_id, now, times)
        except NotFound:  # it was deleted meanwhile
            continue
        for halt_id in sorted(halt_id for workspace, halt_id in ended if workspace == workspace_id):
            done[Step.HALT_EXPIRED] += _end_halt(connection, log, halt_id)
        for signal_id in sorted(signal_id for workspace, signal_id in due if workspace == workspace_id):
            done.update(_move(connection, log, signal_id))
        log.write()
    return Swept(
        escalated=done[Step.ESCALATED],
        lowered=done[Step.LOWERED],
        resolved=done[Step.RESOLVED],
        expired=done[Step.EXPIRED],
        tombstoned=done[Step.TOMBSTONED],
        halts_expired=done[Step.HALT_EXPIRED],
    )


def _move(connection: Connection, log: BroadcastLog, signal_id: str) -> list[Step]:
    """Move a signal according to its current state: another sweeper or a raise may have been first."""
    signal = one_signal(connection, signals.c.id == signal_id)
    moved = None if signal is None else swept(signal, log.now, log.times)
    if signal is None:
        return []
    if moved is None:
        # Settings have changed its times: save the new due time.
        log.save_silently(signal)
        return []
    step, after = moved
    log.signal(after, halt_of(connection, signal_id), step, TIME)
    return [step]


def _end_halt(connection: Connection, log: BroadcastLog, halt_id: str) -> bool:
    due = and_(halts.c.id == halt_id, _OPEN_HALT, halts.c.expires_at <= log.now)
    halt = one_halt(connection, due)
    signal = None if halt is None else one_signal(connection, signals.c.id == halt.signal_id)
    if halt is None or signal is None:
        return False
    after = halt_expired(halt, log.now)
    logged = log.signal(signal, after, Step.HALT_EXPIRED, TIME)
    save_halt(connection, replace(after, seq=logged.seq), new=False)
    return True


def purge_ended(connection: Connection, limit: int, before: int) -> int:
    ended = signals.c.state == SignalState.TOMBSTONED.value, signals.c.ended_at < before
    past = and_(*ended, without_hold(signals.c.workspace_id))
    stands = select(halts.c.signal_id).where(_OPEN_HALT)
    ids = sorted(connection.scalars(select(signals.c.id).where(past, signals.c.id.not_in(stands)).limit(limit)))
    for some in chunks(ids):
        mine = select(halts.c.id).where(halts.c.signal_id.in_(some))
        halt_ids = sorted(connection.scalars(mine))
        connection.execute(delete(halt_acks).where(halt_acks.c.halt_id.in_(halt_ids)))
        connection.execute(delete(halts).where(halts.c.id.in_(halt_ids)))
        for table in (signal_history, signal_acks):
            connection.execute(delete(table).where(table.c.signal_id.in_(some)))
        connection.execute(delete(signals).where(signals.c.id.in_(some)))
    return len(ids)


def renumber(connection: Connection, workspace_id: str, since: int, above: int, now: int, times: SignalTimes) -> int:
    log = BroadcastLog(connection, workspace_id, now, times)
    later = and_(broadcasts.c.workspace_id == workspace_id, broadcasts.c.seq >= since)
    columns = broadcasts.c.seq, broadcasts.c.signal_id, broadcasts.c.org, broadcasts.c.everyone, broadcasts.c.body
    rows = connection.execute(select(*columns).where(later).order_by(broadcasts.c.seq)).all()
    log.advance_to(above)
    connection.execute(delete(broadcasts).where(later))
    for row in rows:
        seq = log.republish(row.signal_id, row.org, everyone=bool(row.everyone), body=row.body)
        for column in (signals.c.seq, signals.c.worsened_seq):
            this = signals.c.id == row.signal_id, column == row.seq
            connection.execute(update(signals).where(*this).values({column.name: seq}))
        connection.execute(
            update(halts).where(halts.c.signal_id == row.signal_id, halts.c.seq == row.seq).values(seq=seq)
        )
    log.write()
    return log.seq
