"""Signals, halts and broadcasts as they stand."""

from collections.abc import Collection, Sequence

from sqlalchemy import Column, ColumnElement, Connection, Select, and_, or_, select

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.schema.signal_tables import (
    broadcasts,
    halt_acks,
    halts,
    signal_acks,
    signal_history,
    signals,
)
from openbrain.adapters.sql.schema.tables import workspaces
from openbrain.adapters.sql.signals.changing import veil, visible_halt
from openbrain.adapters.sql.signals.rows import (
    HALT,
    SIGNAL,
    halts_of,
    no_signal,
    of_viewer,
    one_halt,
    one_signal,
    to_halt,
    to_signal,
)
from openbrain.domain.signals.values import (
    OPEN_STATES,
    SEVERITIES,
    Acknowledgement,
    BroadcastRow,
    Halt,
    HaltState,
    Present,
    Signal,
    Step,
)
from openbrain.domain.visibility import Viewer
from openbrain.ports.clock import Clock
from openbrain.ports.signals import SignalEntry, SignalFilter

HALTS_SHOWN = 1000
_OPEN = signals.c.state.in_(sorted(state.value for state in OPEN_STATES))
_STRONGEST = (signals.c.broadcast_severity.desc(), signals.c.last_raised_at.desc(), signals.c.id.desc())
_ENTRY = tuple(column for column in signal_history.c if column.name not in ("id", "workspace_id"))


class SqlSignalReading:
    """What `ports.signals.Signals` and `Halts` show."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def signal(self, viewer: Viewer, signal_id: str) -> Signal | None:
        """As in the port."""
        this = and_(signals.c.id == signal_id, of_viewer(viewer))
        return await self._database.read(lambda connection: one_signal(connection, this))

    async def signals(
        self, viewer: Viewer, asked: SignalFilter, limit: int, before: tuple[int, str] | None = None
    ) -> Sequence[Signal]:
        """As in the port."""
        newest = signals.c.first_raised_at.desc(), signals.c.id.desc()
        query = select(*SIGNAL).where(of_viewer(viewer), *_asked(asked)).order_by(*newest).limit(limit)
        return await self._database.read(
            lambda connection: _signals(connection, _behind(query, signals.c.first_raised_at, signals.c.id, before))
        )

    async def signal_history(self, viewer: Viewer, signal_id: str, limit: int) -> Sequence[SignalEntry]:
        """As in the port."""
        return await self._database.read(lambda connection: _history(connection, viewer, signal_id, limit))

    async def signal_acks(self, viewer: Viewer, signal_id: str, limit: int) -> Sequence[Acknowledgement]:
        """As in the port."""
        return await self._database.read(lambda connection: _signal_acks(connection, viewer, signal_id, limit))

    async def present(self, viewer: Viewer, limit: int = 1000) -> Present:
        """As in the port."""
        return await self._database.read(lambda connection: _present(connection, viewer, limit))

    async def last_seqs(self, after: str, limit: int) -> Sequence[tuple[str, int]]:
        """As in the port."""
        columns = workspaces.c.id, workspaces.c.signal_seq
        told = workspaces.c.id > after, workspaces.c.signal_seq > 0, workspaces.c.deleted_at.is_(None)
        query = select(*columns).where(*told).order_by(workspaces.c.id).limit(limit)
        return await self._database.read(lambda connection: [(row[0], row[1]) for row in connection.execute(query)])

    async def last_seq(self, workspace_id: str) -> int:
        """As in the port."""
        return await self._database.read(lambda connection: _last_seq(connection, workspace_id))

    async def broadcasts_after(self, workspace_id: str, seq: int, limit: int) -> Sequence[BroadcastRow]:
        """As in the port."""
        following = broadcasts.c.workspace_id == workspace_id, broadcasts.c.seq > seq
        query = select(broadcasts).where(*following).order_by(broadcasts.c.seq).limit(limit)
        return await self._database.read(
            lambda connection: [
                BroadcastRow(**{**row, "everyone": bool(row["everyone"]), "body": bytes(row["body"])})
                for row in connection.execute(query).mappings()
            ]
        )

    async def broadcast_floor(self, workspace_id: str, before: int) -> int:
        """As in the port."""
        return await self._database.read(lambda connection: _floor(connection, workspace_id, before))

    async def halt(self, viewer: Viewer, halt_id: str) -> Halt | None:
        """As in the port."""
        this = and_(halts.c.id == halt_id, halts_of(viewer))
        found = await self._database.read(lambda connection: one_halt(connection, this))
        return None if found is None else veil(found, viewer)

    async def halts(
        self,
        viewer: Viewer,
        limit: int,
        *,
        states: Collection[HaltState] = (),
        before: tuple[int, str] | None = None,
    ) -> Sequence[Halt]:
        """As in the port."""
        asked = [halts.c.state.in_(sorted(state.value for state in states))] if states else []
        newest = halts.c.raised_at.desc(), halts.c.id.desc()
        query = select(*HALT).where(halts_of(viewer), *asked).order_by(*newest).limit(limit)
        return await self._database.read(
            lambda connection: _halts(connection, viewer, _behind(query, halts.c.raised_at, halts.c.id, before))
        )

    async def halt_acks(self, viewer: Viewer, halt_id: str, limit: int) -> Sequence[Acknowledgement]:
        """As in the port."""

        def read(connection: Connection) -> list[Acknowledgement]:
            visible_halt(connection, viewer, halt_id)
            return _acks(connection, halt_acks.c.halt_id == halt_id, halt_acks.c.agent_id, halt_acks.c.at, limit)

        return await self._database.read(read)


def _asked(asked: SignalFilter) -> list[ColumnElement[bool]]:
    wanted = [
        signals.c[name] == value
        for name, value in (("source", asked.source), ("org", asked.org), ("project", asked.project))
        if value
    ]
    if asked.states:
        wanted.append(signals.c.state.in_(sorted(state.value for state in asked.states)))
    if asked.min_severity is not None:
        wanted.append(signals.c.severity >= asked.min_severity.rank)
    if asked.since is not None:
        wanted.append(signals.c.first_raised_at >= asked.since)
    return wanted


def _behind(
    query: Select[tuple[object, ...]], at: Column[int], key: Column[str], before: tuple[int, str] | None
) -> Select[tuple[object, ...]]:
    if before is None:
        return query
    moment, last = before
    return query.where(or_(at < moment, and_(at == moment, key < last)))


def _signals(connection: Connection, query: Select[tuple[object, ...]]) -> list[Signal]:
    return [to_signal(row) for row in connection.execute(query).mappings()]


def _halts(connection: Connection, viewer: Viewer, query: Select[tuple[object, ...]]) -> list[Halt]:
    return [veil(to_halt(row), viewer) for row in connection.execute(query).mappings()]


def _last_seq(connection: Connection, workspace_id: str) -> int:
    return connection.scalar(select(workspaces.c.signal_seq).where(workspaces.c.id == workspace_id)) or 0


def _floor(connection: Connection, workspace_id: str, before: int) -> int:
    # By the oldest that stays, for what came before it may have been removed.
    later = broadcasts.c.workspace_id == workspace_id, broadcasts.c.at >= before
    first = connection.scalar(select(broadcasts.c.seq).where(*later).order_by(broadcasts.c.seq).limit(1))
    return _last_seq(connection, workspace_id) if first is None else first - 1


def _present(connection: Connection, viewer: Viewer, limit: int) -> Present:
    # The number first: what is told while we read is in the state and after the number, and never in neither.
    seq = _last_seq(connection, viewer.workspace_id)
    burning = select(*SIGNAL).where(of_viewer(viewer), _OPEN).order_by(*_STRONGEST).limit(limit + 1)
    found = _signals(connection, burning)
    standing = halts_of(viewer), halts.c.state == HaltState.OPEN.value
    halted = select(*HALT).where(*standing).order_by(halts.c.raised_at, halts.c.id).limit(HALTS_SHOWN)
    return Present(
        workspace_id=viewer.workspace_id,
        seq=seq,
        signals=tuple(found[:limit]),
        halts=tuple(_halts(connection, viewer, halted)),
        more=len(found) > limit,
    )


def _seen(connection: Connection, viewer: Viewer, signal_id: str) -> None:
    if one_signal(connection, and_(signals.c.id == signal_id, of_viewer(viewer))) is None:
        raise no_signal()


def _history(connection: Connection, viewer: Viewer, signal_id: str, limit: int) -> list[SignalEntry]:
    _seen(connection, viewer, signal_id)
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
    _seen(connection, viewer, signal_id)
    return _acks(connection, signal_acks.c.signal_id == signal_id, signal_acks.c.agent_id, signal_acks.c.at, limit)


def _acks(
    connection: Connection, where: ColumnElement[bool], agent: Column[str], at: Column[int], limit: int
) -> list[Acknowledgement]:
    query = select(agent, at).where(where).order_by(at, agent).limit(limit)
    return [Acknowledgement(agent_id=row[0], at=row[1]) for row in connection.execute(query)]
