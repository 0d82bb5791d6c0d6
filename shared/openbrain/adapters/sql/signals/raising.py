"""Raises: each signal is stored once, however often and in whatever order its raises arrive."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from sqlalchemy import Connection, bindparam, delete, func, select

from openbrain.adapters.sql.engine.statements import among, chunks
from openbrain.adapters.sql.schema.inserts import insert_rows
from openbrain.adapters.sql.schema.signal_tables import halt_acks, halts, signal_keys, signals
from openbrain.adapters.sql.signals.broadcast_log import BroadcastLog
from openbrain.adapters.sql.signals.rows import (
    HALT,
    SIGNAL,
    halt_of,
    open_key,
    save_halt,
    to_halt,
    to_signal,
)
from openbrain.domain.errors import Conflict, OpenBrainError
from openbrain.domain.ids import joined_hash
from openbrain.domain.signals.rules import (
    TIME,
    SignalTimes,
    expired,
    halted,
    held,
    identity,
    merged,
    must_tell,
    opened,
    storm_identity,
)
from openbrain.domain.signals.values import Halt, HaltState, Raise, Signal, Step
from openbrain.ports.store.signals import RaiseOutcome, RaiseStatus


def raise_all(connection: Connection, raises: Sequence[Raise], now: int, times: SignalTimes) -> list[RaiseOutcome]:
    outcomes: dict[int, RaiseOutcome] = {}
    # In a fixed order, so that transactions don't deadlock on each other's workspaces.
    for workspace_id in sorted({item.workspace_id for item in raises}):
        mine = [index for index, item in enumerate(raises) if item.workspace_id == workspace_id]
        try:
            log = BroadcastLog(connection, workspace_id, now, times)
        except OpenBrainError as error:
            outcomes |= {index: RaiseOutcome(RaiseStatus.REFUSED, error=error) for index in mine}
            continue
        batch = _Batch(connection, log, [raises[index] for index in mine])
        done = {index: batch.take(raises[index]) for index in mine}
        batch.finish()
        outcomes |= {index: batch.settled(outcome) for index, outcome in done.items()}
    return [outcomes[index] for index in range(len(raises))]


class _Touched:
    """A signal that this batch raised: its former and current state, and the step to broadcast at the end."""

    def __init__(self, before: Signal | None, signal: Signal, halt: Halt | None, last: Raise) -> None:
        self.before, self.signal, self.halt = before, signal, halt
        self.halt_before = halt
        self.step = Step.RAISED
        self.worsened = False
        """Whether the last raise had a higher severity than the signal before."""
        self.last = last


class _Batch:
    """The raises of one workspace."""

    def __init__(self, connection: Connection, log: BroadcastLog, raises: Sequence[Raise]) -> None:
        self._connection, self._log = connection, log
        self._now, self._times = log.now, log.times
        self._keys = _known_keys(connection, log.workspace_id, raises)
        self._new_keys: list[tuple[str, str, str, str, int]] = []
        self._before, self._halts = _signals_of(connection, {signal_id for signal_id, _ in self._keys.values()})
        """Signals raised earlier, as this batch has left them, and their halts, both by signal id."""
        new = [item for item in raises if not (item.key and joined_hash(item.key) in self._keys)]
        self._unresolved = _open_signals(connection, log.workspace_id, new)
        self._touched: dict[str, _Touched] = {}
        """By identity."""
        self._counts: dict[tuple[str, int, int], int] = {}
        """Number of a source's signals before this batch, by source, minimum severity and start time."""

    def take(self, given: Raise) -> RaiseOutcome:
        """Process one raise. The signal in the outcome is not final yet."""
        known = self._known(given)
        if known is not None:
            return known
        if given.expires_at is not None and given.expires_at <= self._now:
            return RaiseOutcome(RaiseStatus.EXPIRED)
        touched, status = self._touch(given)
        if given.halts:
            worsened = touched.worsened
            touched.halt = halted(touched.halt, touched.signal, given, self._now, worsened=worsened) or touched.halt
        self._remember(given, touched.signal.id)
        return RaiseOutcome(status, touched.signal)

    def finish(self) -> None:
        """Save and broadcast each signal once, in the order in which they were first raised."""
        for touched in self._touched.values():
            self._save(touched)
        insert_rows(self._connection, signal_keys, self._new_keys)
        self._log.write()

    def settled(self, outcome: RaiseOutcome) -> RaiseOutcome:
        """Return the outcome with the final signal and halt."""
        if outcome.signal is None:
            return outcome
        touched = self._touched.get(outcome.signal.identity)
        if touched is None or touched.signal.id != outcome.signal.id:
            return replace(outcome, halt=self._halts.get(outcome.signal.id))
        return replace(outcome, signal=touched.signal, halt=touched.halt)

    def _known(self, given: Raise) -> RaiseOutcome | None:
        known = self._keys.get(joined_hash(given.key)) if given.key else None
        if known is None:
            return None
        signal_id, raised_hash = known
        if raised_hash != _hash(given):
            error = Conflict("this key came with another signal before: use a new key for each")
            return RaiseOutcome(RaiseStatus.REFUSED, error=error)
        touched = next((item for item in self._touched.values() if item.signal.id == signal_id), None)
        if touched is not None:
            touched.signal = held(touched.signal, given, self._now)
            return RaiseOutcome(RaiseStatus.DUPLICATE, touched.signal)
        signal = self._before.get(signal_id)
        if signal is not None and (lasting := held(signal, given, self._now)) is not signal:
            self._before[signal_id] = signal = lasting
            self._log.save_silently(signal)
        return RaiseOutcome(RaiseStatus.DUPLICATE, signal)

    def _remember(self, given: Raise, signal_id: str) -> None:
        if given.key:
            key_hash, raised_hash = joined_hash(given.key), _hash(given)
            self._keys[key_hash] = signal_id, raised_hash
            expires_at = self._now + self._times.keys
            self._new_keys.append((given.workspace_id, key_hash, signal_id, raised_hash, expires_at))

    def _touch(self, given: Raise) -> tuple[_Touched, RaiseStatus]:
        if touched := self._open_signal(identity(given), given):
            return self._merge(touched, given), RaiseStatus.MERGED
        if not self._too_many(given):
            return self._open(given, storm=False), RaiseStatus.CREATED
        storm = self._open_signal(storm_identity(given), given)
        return (self._merge(storm, given) if storm else self._open(given, storm=True)), RaiseStatus.GROUPED

    def _open(self, given: Raise, *, storm: bool) -> _Touched:
        touched = _Touched(None, opened(given, self._now, storm=storm), None, given)
        self._touched[touched.signal.identity] = touched
        return touched

    def _merge(self, touched: _Touched, given: Raise) -> _Touched:
        step, touched.signal = merged(touched.signal, given, self._now)
        touched.last, touched.worsened = given, step is Step.WORSENED
        if step is Step.WORSENED and touched.before is not None:
            touched.step = step
        self._touched[touched.signal.identity] = touched
        return touched

    def _open_signal(self, wanted: str, given: Raise) -> _Touched | None:
        """Return the open signal of this identity, as this batch has left it."""
        if wanted in self._touched:
            return self._touched[wanted]
        signal = self._unresolved.pop(wanted, None)
        if signal is None or self._ends(signal):
            return None
        return _Touched(signal, signal, halt_of(self._connection, signal.id), given)

    def _ends(self, signal: Signal) -> bool:
        """True if the signal's ttl is over; this is saved if it was not yet. The raise then opens a new signal."""
        ended = expired(signal, self._now)
        if ended is not None:
            saved = self._log.signal(ended, halt_of(self._connection, signal.id), Step.EXPIRED, TIME)
            if signal.id in self._before:
                self._before[signal.id] = saved
        return ended is not None

    def _too_many(self, given: Raise) -> bool:
        """True if the source has opened so many signals of at least this severity within the window that this one is
        grouped."""
        since, most = given.at - self._times.source_window, self._times.source_signals
        here = [
            item.signal
            for item in self._touched.values()
            if item.before is None and item.signal.source == given.source and not item.signal.storm
        ]
        count = sum(item.severity.rank >= given.severity.rank and item.first_raised_at > since for item in here)
        if count >= most:
            return True
        key = given.source, given.severity.rank, since
        if key not in self._counts:
            self._counts[key] = count_of_source(self._connection, given, since, most)
        return count + self._counts[key] >= most

    def _save(self, touched: _Touched) -> None:
        before, signal, halt, given = touched.before, touched.signal, touched.halt, touched.last
        halts = halt != touched.halt_before
        if before is not None and not halts and not must_tell(before, signal, self._now, self._times):
            self._log.save_silently(signal)
            return
        step = Step.HALTED if halts and before is not None and touched.step is Step.RAISED else touched.step
        new = before is None
        logged = self._log.signal(signal, halt, step, given.actor, new=new, traceparent=given.traceparent)
        touched.signal = logged
        if halt is not None and halts:
            touched.halt = replace(halt, seq=logged.seq)
            if touched.halt_before is not None and touched.halt_before.state is not HaltState.OPEN:
                # It begins again: who stopped then has not stopped now.
                self._connection.execute(delete(halt_acks).where(halt_acks.c.halt_id == halt.id))
            save_halt(self._connection, touched.halt, new=touched.halt_before is None)


def _known_keys(connection: Connection, workspace_id: str, raises: Sequence[Raise]) -> dict[str, tuple[str, str]]:
    """Return signal id and hash of the raises whose key is known, by the hash of the key."""
    hashes = {joined_hash(item.key) for item in raises if item.key}
    table = signal_keys.c
    query = select(table.key_hash, table.signal_id, table.raised_hash).where(table.workspace_id == workspace_id)
    rows = among(connection, query, table.key_hash, hashes)
    return {key_hash: (signal_id, raised_hash) for key_hash, signal_id, raised_hash in rows}


def _signals_of(connection: Connection, ids: Collection[str]) -> tuple[dict[str, Signal], dict[str, Halt]]:
    """Return the signals with these ids, and their halts; both by signal id."""
    by_id: dict[str, Signal] = {}
    halts_by_signal: dict[str, Halt] = {}
    for some in chunks(sorted(ids)):
        rows = connection.execute(select(*SIGNAL).where(signals.c.id.in_(some))).mappings()
        by_id |= {row["id"]: to_signal(row) for row in rows}
        rows = connection.execute(select(*HALT).where(halts.c.signal_id.in_(some))).mappings()
        halts_by_signal |= {row["signal_id"]: to_halt(row) for row in rows}
    return by_id, halts_by_signal


def _open_signals(connection: Connection, workspace_id: str, raises: Sequence[Raise]) -> dict[str, Signal]:
    """Return the open signals that these raises may merge into, by identity."""
    wanted = {name for item in raises for name in (identity(item), storm_identity(item))}
    by_identity: dict[str, Signal] = {}
    for some in chunks(sorted(open_key(workspace_id, item) for item in wanted)):
        rows = connection.execute(select(*SIGNAL).where(signals.c.open_key.in_(some))).mappings()
        by_identity |= {row["identity"]: to_signal(row) for row in rows}
    return by_identity


_RECENT = (
    select(signals.c.id)
    .where(
        signals.c.workspace_id == bindparam("workspace"),
        signals.c.source == bindparam("source"),
        signals.c.first_raised_at > bindparam("since"),
        signals.c.severity >= bindparam("rank"),
        signals.c.storm.is_(False),
    )
    .limit(bindparam("most"))
)
_COUNT_OF_SOURCE = select(func.count()).select_from(_RECENT.subquery())
"""Built once: a batch queries it for each source."""


def count_of_source(connection: Connection, given: Raise, since: int, most: int) -> int:
    """Count the source's signals of at least this severity, first raised after `since`; at most `most`."""
    values = {"workspace": given.workspace_id, "source": given.source, "since": since, "rank": given.severity.rank}
    return int(connection.scalar(_COUNT_OF_SOURCE, {**values, "most": most}) or 0)


def _hash(given: Raise) -> str:
    return joined_hash(identity(given), given.severity.value, str(given.halts), given.title, given.content)
