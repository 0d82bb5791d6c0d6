"""Reads the current signals, halts and broadcasts."""

from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import Column, ColumnElement, Connection, and_, func, select

from openbrain.adapters.sql.engine.statements import older_than
from openbrain.adapters.sql.schema.signal_tables import (
    broadcasts,
    halt_acks,
    halts,
    signal_acks,
    signal_history,
    signal_keys,
    signals,
)
from openbrain.adapters.sql.schema.tables import OPEN_WORKSPACE, workspaces
from openbrain.adapters.sql.signals import changing, raising, sweeping
from openbrain.adapters.sql.signals.changing import visible_halt, without_hidden_org
from openbrain.adapters.sql.signals.rows import (
    HALT,
    SIGNAL,
    SignalPart,
    halts_of,
    no_signal,
    of_viewer,
    one_halt,
    one_signal,
    remove_rows,
    to_halt,
    to_signal,
)
from openbrain.domain.access.visibility import Viewer
from openbrain.domain.errors import Invalid
from openbrain.domain.signals.values import (
    OPEN_STATES,
    SEVERITIES,
    UNHEARD_STATES,
    Acknowledgement,
    Halt,
    HaltState,
    Present,
    Raise,
    Severity,
    Signal,
    Step,
)
from openbrain.ports.store.signals import RaiseOutcome, SignalChange, SignalEntry, SignalFilter, Swept

HALTS_SHOWN = 1000
_OPEN = signals.c.state.in_(sorted(state.value for state in OPEN_STATES))
_STRONGEST = (signals.c.broadcast_severity.desc(), signals.c.last_raised_at.desc(), signals.c.id.desc())
_ENTRY = tuple(column for column in signal_history.c if column.name not in ("id", "workspace_id"))


class SqlSignals(SignalPart):
    """`ports.signals.Signals`."""

    async def raise_signals(self, raises: Sequence[Raise]) -> Sequence[RaiseOutcome]:
        return await self._write(raising.raise_all, raises, self._clock.now(), self._times)

    async def change_signal(self, change: SignalChange) -> Signal:
        if change.step not in (Step.ACKNOWLEDGED, Step.RESOLVED):
            raise Invalid("step", "a signal can only be acknowledged or resolved")
        return await self._write(changing.change, change, self._clock.now(), self._times)

    async def signal(self, viewer: Viewer, signal_id: str) -> Signal | None:
        return await self._read(one_signal, and_(signals.c.id == signal_id, of_viewer(viewer)))

    async def signals(
        self, viewer: Viewer, wanted: SignalFilter, limit: int, before: tuple[int, str] | None = None
    ) -> Sequence[Signal]:
        at, key = signals.c.first_raised_at, signals.c.id
        these = of_viewer(viewer), *_matches(wanted), older_than(before, at, key)
        query = select(*SIGNAL).where(*these).order_by(at.desc(), key.desc()).limit(limit)
        return [to_signal(row) for row in await self._rows(query)]

    async def signal_history(self, viewer: Viewer, signal_id: str, limit: int) -> Sequence[SignalEntry]:
        return await self._read(_history, viewer, signal_id, limit)

    async def signal_acks(self, viewer: Viewer, signal_id: str, limit: int) -> Sequence[Acknowledgement]:
        return await self._read(_signal_acks, viewer, signal_id, limit)

    async def present(self, viewer: Viewer, limit: int = 1000) -> Present:
        return await self._read(_present, viewer, limit)

    async def unacknowledged(self, limit: int) -> Mapping[str, int]:
        return await self._read(_unacknowledged, limit)

    async def sweep_due(self, limit: int, now: int) -> Swept:
        due = await self._read(sweeping.due_rows, limit, now)
        return await self._write(sweeping.sweep, *due, now, self._times) if any(due) else Swept()

    async def purge_signals(self, limit: int, *, broadcasts_before: int, ended_before: int, now: int) -> int:
        return await self._database.write(
            lambda connection: (
                remove_rows(connection, signal_keys, signal_keys.c.expires_at <= now, limit)
                + remove_rows(connection, broadcasts, broadcasts.c.at < broadcasts_before, limit)
                + sweeping.purge_ended(connection, limit, ended_before)
            )
        )


class SqlHalts(SignalPart):
    """`ports.signals.Halts`."""

    async def halt(self, viewer: Viewer, halt_id: str) -> Halt | None:
        halt = await self._read(one_halt, and_(halts.c.id == halt_id, halts_of(viewer)))
        return None if halt is None else without_hidden_org(halt, viewer)

    async def halts(
        self,
        viewer: Viewer,
        limit: int,
        *,
        states: Collection[HaltState] = (),
        before: tuple[int, str] | None = None,
    ) -> Sequence[Halt]:
        these = [halts_of(viewer), older_than(before, halts.c.raised_at, halts.c.id)]
        these += [halts.c.state.in_(sorted(state.value for state in states))] if states else []
        query = select(*HALT).where(*these).order_by(halts.c.raised_at.desc(), halts.c.id.desc()).limit(limit)
        return [without_hidden_org(to_halt(row), viewer) for row in await self._rows(query)]

    async def ack_halt(self, viewer: Viewer, halt_id: str, agent_ids: Sequence[str]) -> Halt:
        return await self._write(changing.ack_halt, viewer, halt_id, agent_ids, self._clock.now())

    async def halt_acks(self, viewer: Viewer, halt_id: str, limit: int) -> Sequence[Acknowledgement]:
        return await self._read(_halt_acks, viewer, halt_id, limit)

    async def resume_halt(self, viewer: Viewer, halt_id: str, actor: str, note: str = "") -> Halt:
        return await self._write(changing.resume, viewer, halt_id, actor, note, self._clock.now(), self._times)


def _matches(filters: SignalFilter) -> list[ColumnElement[bool]]:
    wanted = [signals.c.source == filters.source] if filters.source else []
    for column, value in ((signals.c.org, filters.org), (signals.c.project, filters.project)):
        if value:
            wanted.append(column.in_(("", value)) if filters.or_of_none else column == value)
    if filters.states:
        wanted.append(signals.c.state.in_(sorted(state.value for state in filters.states)))
    if filters.min_severity is not None:
        wanted.append(signals.c.severity >= filters.min_severity.rank)
    if filters.since is not None:
        wanted.append(signals.c.first_raised_at >= filters.since)
    return wanted


def last_seq(connection: Connection, workspace_id: str) -> int:
    return connection.scalar(select(workspaces.c.signal_seq).where(workspaces.c.id == workspace_id)) or 0


def _present(connection: Connection, viewer: Viewer, limit: int) -> Present:
    # Read the number first: a change made meanwhile may be in the state and after the number, but never in neither.
    seq = last_seq(connection, viewer.workspace_id)
    open_query = select(*SIGNAL).where(of_viewer(viewer), _OPEN).order_by(*_STRONGEST).limit(limit + 1)
    open_signals = [to_signal(row) for row in connection.execute(open_query).mappings()]
    open_halts = halts_of(viewer), halts.c.state == HaltState.OPEN.value
    halted = select(*HALT).where(*open_halts).order_by(halts.c.raised_at, halts.c.id).limit(HALTS_SHOWN)
    return Present(
        workspace_id=viewer.workspace_id,
        seq=seq,
        signals=tuple(open_signals[:limit]),
        halts=tuple(without_hidden_org(to_halt(row), viewer) for row in connection.execute(halted).mappings()),
        more=len(open_signals) > limit,
    )


def _unacknowledged(connection: Connection, limit: int) -> dict[str, int]:
    # One count per workspace, so that an index finds the rows and ended signals cost nothing.
    states = signals.c.state.in_(sorted(state.value for state in UNHEARD_STATES))
    grave = and_(states, signals.c.severity >= Severity.CRITICAL.rank)
    number = select(func.count()).where(signals.c.workspace_id == workspaces.c.id, grave).scalar_subquery()
    counted = select(workspaces.c.id, number.label("number")).where(OPEN_WORKSPACE).subquery()
    most = select(counted.c.id, counted.c.number).where(counted.c.number > 0).order_by(counted.c.number.desc())
    return {row.id: row.number for row in connection.execute(most.limit(limit))}


def _require_visible(connection: Connection, viewer: Viewer, signal_id: str) -> None:
    if one_signal(connection, and_(signals.c.id == signal_id, of_viewer(viewer))) is None:
        raise no_signal()


def _history(connection: Connection, viewer: Viewer, signal_id: str, limit: int) -> list[SignalEntry]:
    _require_visible(connection, viewer, signal_id)
    this = signal_history.c.signal_id == signal_id
    query = select(*_ENTRY).where(this).order_by(signal_history.c.id).limit(limit)
    return [
        SignalEntry(
            **{
                **row,
                "step": Step(row["step"]),
                "severity": SEVERITIES[row["severity"]],
                "broadcast_severity": SEVERITIES[row["broadcast_severity"]],
            }
        )
        for row in connection.execute(query).mappings()
    ]


def _signal_acks(connection: Connection, viewer: Viewer, signal_id: str, limit: int) -> list[Acknowledgement]:
    _require_visible(connection, viewer, signal_id)
    return _acks(connection, signal_acks.c.signal_id == signal_id, signal_acks.c.agent_id, signal_acks.c.at, limit)


def _halt_acks(connection: Connection, viewer: Viewer, halt_id: str, limit: int) -> list[Acknowledgement]:
    visible_halt(connection, viewer, halt_id)
    return _acks(connection, halt_acks.c.halt_id == halt_id, halt_acks.c.agent_id, halt_acks.c.at, limit)


def _acks(
    connection: Connection, where: ColumnElement[bool], agent: Column[str], at: Column[int], limit: int
) -> list[Acknowledgement]:
    query = select(agent, at).where(where).order_by(at, agent).limit(limit)
    return [Acknowledgement(agent_id=row[0], at=row[1]) for row in connection.execute(query)]
