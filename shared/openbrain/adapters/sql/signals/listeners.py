"""Who listens to broadcasts."""

from collections.abc import Sequence

from sqlalchemy import Connection, func, select, true
from sqlalchemy.dialects import mysql, sqlite
from sqlalchemy.sql.dml import Insert

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.engine.statements import chunks, is_sqlite
from openbrain.adapters.sql.schema.signal_tables import subscribers as table
from openbrain.adapters.sql.signals.rows import remove_rows, sees
from openbrain.domain.signals.values import Subscriber
from openbrain.domain.visibility import Viewer

_ROW = tuple(table.c)


class SqlSubscribers:
    """`ports.signals.Subscribers`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def seen(self, subscribers: Sequence[Subscriber]) -> None:
        """As in the port."""
        if subscribers:
            await self._database.write(lambda connection: _seen(connection, subscribers))

    async def subscribers(
        self, workspace_id: str, seen_since: int, limit: int, after: str = "", *, viewer: Viewer | None = None
    ) -> Sequence[Subscriber]:
        """As in the port."""
        these = table.c.workspace_id == workspace_id, table.c.agent_id > after, table.c.seen_at >= seen_since
        query = (
            select(*_ROW)
            .where(*these, true() if viewer is None else sees(viewer, table.c.org))
            .order_by(table.c.agent_id)
            .limit(limit)
        )
        return await self._database.read(
            lambda connection: [_subscriber(dict(row)) for row in connection.execute(query).mappings()]
        )

    async def forget_subscribers(self, seen_before: int, limit: int) -> int:
        """As in the port."""
        return await self._database.write(lambda connection: _forget(connection, seen_before, limit))


def _seen(connection: Connection, subscribers: Sequence[Subscriber]) -> None:
    # One after the other in one order: two processes that tell of the same agents do not wait for each other.
    known = sorted(subscribers, key=lambda each: (each.workspace_id, each.agent_id, each.seen_at))
    statement = _upsert(connection)
    for some in chunks(known):
        connection.execute(statement, [_row(each) for each in some])


def _upsert(connection: Connection) -> Insert:
    """Cursor and time only rise: words of one agent may come late."""
    if is_sqlite(connection):
        given = sqlite.insert(table)
        values = {
            "cursor_seq": func.max(table.c.cursor_seq, given.excluded.cursor_seq),
            "seen_at": func.max(table.c.seen_at, given.excluded.seen_at),
        }
        said = {name: given.excluded[name] for name in ("via", "org", "project")}
        return given.on_conflict_do_update(index_elements=["workspace_id", "agent_id"], set_=values | said)
    told = mysql.insert(table)
    return told.on_duplicate_key_update(
        cursor_seq=func.greatest(table.c.cursor_seq, told.inserted.cursor_seq),
        seen_at=func.greatest(table.c.seen_at, told.inserted.seen_at),
        via=told.inserted.via,
        org=told.inserted.org,
        project=told.inserted.project,
    )


def _row(each: Subscriber) -> dict[str, object]:
    return {
        "workspace_id": each.workspace_id,
        "agent_id": each.agent_id,
        "cursor_seq": each.cursor,
        "via": each.via,
        "org": each.org,
        "project": each.project,
        "seen_at": each.seen_at,
    }


def _subscriber(row: dict[str, object]) -> Subscriber:
    return Subscriber(cursor=row.pop("cursor_seq"), **row)  # type: ignore[arg-type] # the columns are its fields


def _forget(connection: Connection, seen_before: int, limit: int) -> int:
    gone = select(*table.primary_key).where(table.c.seen_at < seen_before).limit(limit)
    return remove_rows(connection, table, connection.execute(gone).all())
