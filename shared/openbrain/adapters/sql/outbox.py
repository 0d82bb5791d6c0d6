"""Events that were committed with their cause and wait to be published."""

from collections.abc import Sequence

from sqlalchemy import Connection, bindparam, select

from openbrain.adapters.sql.announce import Announcement
from openbrain.adapters.sql.database import Database
from openbrain.adapters.sql.inserts import insert_rows
from openbrain.adapters.sql.statements import chunks, is_sqlite, slots
from openbrain.adapters.sql.tables import outbox
from openbrain.ports.truth import OutboxEntry

_OLDEST = select(outbox.c.id, outbox.c.stream, outbox.c.body).order_by(outbox.c.id).limit(bindparam("count"))


class SqlOutbox:
    """`ports.truth.Outbox`. No cursor: a transaction that commits late may bring a lower id than one already seen."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def take(self, limit: int) -> Sequence[OutboxEntry]:
        """The oldest, in order."""
        return await self._database.read(lambda connection: _take(connection, limit))

    async def delete(self, ids: Sequence[int]) -> None:
        """Exactly these."""
        if ids:
            await self._database.write(lambda connection: _delete(connection, ids))


def append(connection: Connection, announcements: Sequence[Announcement]) -> None:
    """Put events into the transaction that causes them."""
    if is_sqlite(connection):
        insert_rows(connection, outbox, announcements)
    else:
        # As text: the driver escapes bytes far more slowly, and the column takes the same bytes from either.
        insert_rows(connection, outbox, [(stream, body.decode()) for stream, body in announcements])


def _take(connection: Connection, limit: int) -> Sequence[OutboxEntry]:
    return [OutboxEntry(*row) for row in connection.execute(_OLDEST, {"count": limit})]


def _delete(connection: Connection, ids: Sequence[int]) -> None:
    for some in chunks(sorted(ids)):
        statement = f"DELETE FROM outbox WHERE id IN ({slots(connection, len(some))})"  # noqa: S608 - placeholders only
        connection.exec_driver_sql(statement, tuple(some))
