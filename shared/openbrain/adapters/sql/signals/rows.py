"""Converts signals and halts to rows and back; conditions for who sees them."""

from dataclasses import asdict, fields
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    RowMapping,
    Table,
    and_,
    bindparam,
    delete,
    insert,
    or_,
    select,
    update,
)

from openbrain.adapters.sql.engine.database import Database, TimedPart
from openbrain.adapters.sql.engine.statements import first_of
from openbrain.adapters.sql.memories.conditions import of_orgs
from openbrain.adapters.sql.schema.signal_tables import halts, signals
from openbrain.domain.access.visibility import Viewer
from openbrain.domain.errors import NotFound
from openbrain.domain.ids import joined_hash
from openbrain.domain.signals.rules import SignalTimes, due_at
from openbrain.domain.signals.values import SEVERITIES, Halt, HaltScope, HaltState, Signal, SignalState
from openbrain.ports.clock import Clock

SIGNAL = tuple(column for column in signals.c if column.name not in ("open_key", "due_at"))
HALT = tuple(halts.c)


class SignalPart(TimedPart):
    """Base of parts that need the times after which signals change by themselves."""

    def __init__(self, database: Database, clock: Clock, times: SignalTimes) -> None:
        super().__init__(database, clock)
        self._times = times


def open_key(workspace_id: str, identity: str) -> str:
    """Return the unique value of the open signal of an identity."""
    return joined_hash(workspace_id, identity)


_FIELDS = tuple(field.name for field in fields(Signal))


def signal_row(signal: Signal, times: SignalTimes) -> dict[str, Any]:
    """Return all columns."""
    row = {name: getattr(signal, name) for name in _FIELDS}
    row["severity"], row["broadcast_severity"] = signal.severity.rank, signal.broadcast_severity.rank
    row["state"] = signal.state.value
    row["open_key"] = open_key(signal.workspace_id, signal.identity) if signal.state.open else None
    row["due_at"] = due_at(signal, times)
    # Its text was struck out while it was open: nothing needs the hash now, by which a short text could be guessed.
    if not signal.state.open and not signal.content_hash:
        row["identity"] = ""
    return row


def to_signal(row: RowMapping) -> Signal:
    """Convert a row with the columns `SIGNAL`."""
    values = dict(row)
    values["severity"] = SEVERITIES[values["severity"]]
    values["broadcast_severity"] = SEVERITIES[values["broadcast_severity"]]
    values["state"] = SignalState(values["state"])
    values["storm"] = bool(values["storm"])
    return Signal(**values)


def halt_row(halt: Halt) -> dict[str, Any]:
    """Return all columns."""
    return asdict(halt) | {"scope": halt.scope.value, "state": halt.state.value}


def to_halt(row: RowMapping) -> Halt:
    """Convert a row with the columns `HALT`."""
    return Halt(**{**row, "scope": HaltScope(row["scope"]), "state": HaltState(row["state"])})


def save_signal(connection: Connection, signal: Signal, times: SignalTimes) -> None:
    connection.execute(update(signals).where(signals.c.id == signal.id), signal_row(signal, times))


def save_halt(connection: Connection, halt: Halt, *, new: bool) -> None:
    connection.execute(insert(halts) if new else update(halts).where(halts.c.id == halt.id), halt_row(halt))


def remove_rows(connection: Connection, table: Table, past: ColumnElement[bool], limit: int) -> int:
    """Remove at most `limit` rows and return their number. Rows are deleted one by one, by primary key: SQLite uses no
    index for a list of composite keys."""
    columns = table.primary_key.columns
    keys = connection.execute(select(*columns).where(past).limit(limit)).all()
    if keys:
        this = [column == bindparam(f"key_{column.name}") for column in columns]
        rows = [{f"key_{name}": value for name, value in key._asdict().items()} for key in sorted(keys)]
        connection.execute(delete(table).where(*this), rows)
    return len(keys)


def of_viewer(viewer: Viewer) -> ColumnElement[bool]:
    """Return the condition for signals that the viewer sees."""
    return and_(signals.c.workspace_id == viewer.workspace_id, of_orgs(viewer, signals.c.org))


def halts_of(viewer: Viewer) -> ColumnElement[bool]:
    """Return the condition for halts that apply to the viewer, even if their reason is hidden."""
    everyone = halts.c.scope == HaltScope.WORKSPACE.value
    return and_(halts.c.workspace_id == viewer.workspace_id, or_(everyone, of_orgs(viewer, halts.c.org)))


def one_signal(connection: Connection, where: ColumnElement[bool]) -> Signal | None:
    return first_of(connection, select(*SIGNAL).where(where), to_signal)


def one_halt(connection: Connection, where: ColumnElement[bool]) -> Halt | None:
    return first_of(connection, select(*HALT).where(where), to_halt)


def halt_of(connection: Connection, signal_id: str) -> Halt | None:
    """Return the signal's halt; there is at most one."""
    return one_halt(connection, halts.c.signal_id == signal_id)


def no_signal() -> NotFound:
    return NotFound("no signal with this id")


def no_halt() -> NotFound:
    return NotFound("no halt with this id")
