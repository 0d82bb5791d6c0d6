"""Duties that belong to nobody's request."""

from sqlalchemy import Connection, delete, select

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.engine.statements import database_now
from openbrain.adapters.sql.outbox.journal import Journal
from openbrain.adapters.sql.schema.memory_rows import MEMORY_COLUMNS, memory_from_row
from openbrain.adapters.sql.schema.tables import idempotency_keys, memories
from openbrain.adapters.sql.writes.ending import TIME, end
from openbrain.domain.memory import Reason
from openbrain.ports.clock import Clock


class SqlUpkeep:
    """`ports.truth.Upkeep`."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def time(self) -> int:
        """As in the port."""
        return await self._database.read(_time)

    async def expire_due(self, limit: int, now: int) -> int:
        """As in the port; two at once take different rows."""
        return await self._database.write(lambda connection: _expire(connection, limit, now))

    async def purge_idempotency_keys(self, limit: int) -> int:
        """As in the port."""
        now = self._clock.now()
        return await self._database.write(lambda connection: _purge(connection, limit, now))


def _time(connection: Connection) -> int:
    return int(connection.execute(select(database_now(connection))).scalar_one())


def _expire(connection: Connection, limit: int, now: int) -> int:
    due = (
        select(*[memories.c[name] for name in MEMORY_COLUMNS])
        .where(memories.c.reason.is_(None), memories.c.expires_at <= now)
        .order_by(memories.c.expires_at)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    rows = [memory_from_row(row) for row in connection.execute(due)]
    if rows:
        journal = Journal(now)
        end(connection, journal, rows, Reason.EXPIRED, TIME)
        journal.write(connection)
    return len(rows)


def _purge(connection: Connection, limit: int, now: int) -> int:
    past = idempotency_keys.c.expires_at
    last = select(past).where(past <= now).order_by(past).limit(1).offset(limit - 1)
    until = connection.scalar(last)
    return connection.execute(delete(idempotency_keys).where(past <= (now if until is None else until))).rowcount
