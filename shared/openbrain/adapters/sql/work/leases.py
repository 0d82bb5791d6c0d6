"""Leases: one leader at a time. The database's clock decides, so that hosts with different clocks agree."""

from sqlalchemy import Connection, delete, text, update

from openbrain.adapters.sql.engine.database import Part
from openbrain.adapters.sql.engine.statements import NOW_MARIADB, NOW_SQLITE, is_sqlite
from openbrain.adapters.sql.schema.tables import index_writers, leases, operations
from openbrain.adapters.sql.schema.vault_tables import ticks
from openbrain.domain.memory import MICROSECONDS
from openbrain.ports.store.vault import TickState

_TAKE_SQLITE = text(f"""
INSERT INTO leases (name, holder, expires_at)
VALUES (:name, :holder, {NOW_SQLITE} + :span)
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
WHERE leases.holder = excluded.holder OR leases.expires_at <= excluded.expires_at - :span
""")  # noqa: S608 - our own words, values are bound

# MariaDB assigns from left to right: expires_at is extended only if holder, by then assigned, is the caller.
_TAKE_MARIADB = text(f"""
INSERT INTO leases (name, holder, expires_at)
VALUES (:name, :holder, {NOW_MARIADB} + :span)
ON DUPLICATE KEY UPDATE
holder = IF(holder = VALUES(holder) OR expires_at <= VALUES(expires_at) - :span, VALUES(holder), holder),
expires_at = IF(holder = VALUES(holder), VALUES(expires_at), expires_at)
""")  # noqa: S608 - our own words, values are bound

_HOLDER = text("SELECT holder FROM leases WHERE name = :name")


class SqlLeases(Part):
    """`ports.operations.Leases`."""

    async def acquire(self, name: str, holder: str, seconds: float) -> bool:
        """Take, extend or leave the lease in one statement, and read its holder in the same transaction."""
        return await self._write(_acquire, name, holder, round(seconds * MICROSECONDS))

    async def release(self, name: str, holder: str) -> None:
        """Release the lease; do nothing if another holder has it."""
        await self._change(delete(leases).where(leases.c.name == name, leases.c.holder == holder))

    async def end_all(self) -> None:
        await self._write(_end_all)


def _acquire(connection: Connection, name: str, holder: str, span: int) -> bool:
    take = _TAKE_SQLITE if is_sqlite(connection) else _TAKE_MARIADB
    connection.execute(take, {"name": name, "holder": holder, "span": span})
    return bool(connection.execute(_HOLDER, {"name": name}).scalar_one() == holder)


def _end_all(connection: Connection) -> None:
    connection.execute(update(leases).values(expires_at=0))
    connection.execute(delete(index_writers))
    connection.execute(update(operations).where(operations.c.holder != "").values(held_until=0))
    # A pending tick is put off, not held.
    connection.execute(update(ticks).where(ticks.c.state == TickState.RUNNING.value).values(held_until=0))
