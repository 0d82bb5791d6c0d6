"""The log of a workspace's signals in one transaction: audit lines and broadcasts, numbered without gaps.

Every change of a signal or halt creates a log first. It locks the workspace's row, so changes run one after another and
each sees the result of the one before.
"""

from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, insert, select, update

from openbrain.adapters.sql.outbox import relay
from openbrain.adapters.sql.schema.inserts import insert_rows
from openbrain.adapters.sql.schema.signal_tables import broadcasts, signal_history, signals
from openbrain.adapters.sql.schema.tables import OPEN_WORKSPACE, workspaces
from openbrain.adapters.sql.signals.rows import save_signal, signal_row
from openbrain.domain.errors import NotFound
from openbrain.domain.events.streams import BROADCAST
from openbrain.domain.signals.broadcast_events import broadcast_event, for_everyone, renumbered
from openbrain.domain.signals.rules import SignalTimes
from openbrain.domain.signals.values import Halt, Signal, Step


def stream_of(workspace_id: str) -> str:
    return f"{BROADCAST.name}.{workspace_id}"


class BroadcastLog:
    """The log of one workspace in one transaction. `NotFound` if the workspace is unknown or being deleted."""

    def __init__(self, connection: Connection, workspace_id: str, now: int, times: SignalTimes) -> None:
        self._connection, self.workspace_id = connection, workspace_id
        self.now, self.times = now, times
        self.seq = self._first = _locked(connection, workspace_id)
        self._broadcasts: list[tuple[Any, ...]] = []
        self._history: list[tuple[Any, ...]] = []
        self._new: list[dict[str, Any]] = []

    def signal(
        self,
        signal: Signal,
        halt: Halt | None,
        step: Step,
        actor: str,
        *,
        new: bool = False,
        note: str = "",
        traceparent: str | None = None,
    ) -> Signal:
        """Save the signal and log a broadcast with its halt. New signals are inserted together in `write`."""
        signal = replace(signal, seq=self._next(), told_at=self.now)
        if new or step is Step.WORSENED:
            signal = replace(signal, worsened_seq=signal.seq)
        if new:
            self._new.append(signal_row(signal, self.times))
        else:
            self.save_silently(signal)
        self._tell(signal, halt, step, actor, note, traceparent)
        return signal

    def save_silently(self, signal: Signal) -> None:
        """Save an existing signal without a broadcast."""
        save_signal(self._connection, signal, self.times)

    def republish(self, signal_id: str, org: str, *, everyone: bool, body: bytes) -> int:
        """Log a finished event under the next number, and return the number."""
        seq = self._next()
        body = renumbered(bytes(body), seq, self.now)
        self._broadcasts.append((self.workspace_id, seq, signal_id, org, everyone, body, self.now))
        return seq

    def advance_to(self, seq: int) -> None:
        """Skip numbers up to this one: they were used by broadcasts that the database does not have."""
        self.seq = max(self.seq, seq)

    def write(self) -> None:
        """Write everything collected to the transaction."""
        if self.seq == self._first:
            return
        if self._new:
            self._connection.execute(insert(signals), self._new)
        insert_rows(self._connection, signal_history, self._history)
        insert_rows(self._connection, broadcasts, self._broadcasts)
        relay.append(self._connection, [(stream_of(self.workspace_id), row[5]) for row in self._broadcasts])
        this = update(workspaces).where(workspaces.c.id == self.workspace_id)
        self._connection.execute(this.values(signal_seq=self.seq))

    def _next(self) -> int:
        self.seq += 1
        return self.seq

    def _tell(
        self, signal: Signal, halt: Halt | None, step: Step, actor: str, note: str, traceparent: str | None
    ) -> None:
        body = broadcast_event(signal, halt, step, actor, self.now, traceparent)
        everyone = for_everyone(halt, step)
        self._broadcasts.append((self.workspace_id, signal.seq, signal.id, signal.org, everyone, body, self.now))
        self._history.append(
            (
                *(self.workspace_id, signal.id, "" if halt is None else halt.id, signal.seq, step.value, actor),
                *(self.now, signal.state.value, signal.severity.rank, signal.broadcast_severity.rank, signal.count),
                note,
            )
        )


def _locked(connection: Connection, workspace_id: str) -> int:
    mine = workspaces.c.id == workspace_id, OPEN_WORKSPACE
    seq = connection.scalar(select(workspaces.c.signal_seq).where(*mine).with_for_update())
    if seq is None:
        raise NotFound("no workspace with this id: create it first")
    return int(seq)
