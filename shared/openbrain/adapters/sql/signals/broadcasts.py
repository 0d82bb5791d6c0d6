"""Broadcasts and their subscribers."""

from collections.abc import Sequence
from dataclasses import asdict

from sqlalchemy import Connection, func, select, true
from sqlalchemy.dialects import mysql, sqlite
from sqlalchemy.sql.dml import Insert

from openbrain.adapters.sql.engine.statements import chunks, is_sqlite
from openbrain.adapters.sql.memories.conditions import of_orgs
from openbrain.adapters.sql.schema.signal_tables import broadcasts
from openbrain.adapters.sql.schema.signal_tables import subscribers as table
from openbrain.adapters.sql.schema.tables import OPEN_WORKSPACE, workspaces
from openbrain.adapters.sql.signals import sweeping
from openbrain.adapters.sql.signals.reading import last_seq
from openbrain.adapters.sql.signals.rows import SignalPart, remove_rows
from openbrain.domain.access.visibility import Viewer
from openbrain.domain.signals.values import BroadcastRow, Subscriber


class SqlBroadcasts(SignalPart):
    """`ports.signals.Broadcasts`."""

    async def last_seqs(self, after: str, limit: int) -> Sequence[tuple[str, int]]:
        columns = workspaces.c.id, workspaces.c.signal_seq
        broadcasting = workspaces.c.id > after, workspaces.c.signal_seq > 0, OPEN_WORKSPACE
        query = select(*columns).where(*broadcasting).order_by(workspaces.c.id).limit(limit)
        return [(row["id"], row["signal_seq"]) for row in await self._rows(query)]

    async def last_seq(self, workspace_id: str) -> int:
        return await self._read(last_seq, workspace_id)

    async def broadcasts_after(self, workspace_id: str, seq: int, limit: int) -> Sequence[BroadcastRow]:
        following = broadcasts.c.workspace_id == workspace_id, broadcasts.c.seq > seq
        query = select(broadcasts).where(*following).order_by(broadcasts.c.seq).limit(limit)
        return [
            BroadcastRow(**{**row, "everyone": bool(row["everyone"]), "body": bytes(row["body"])})
            for row in await self._rows(query)
        ]

    async def broadcast_floor(self, workspace_id: str, before: int) -> int:
        return await self._read(_floor, workspace_id, before)

    async def renumber(self, workspace_id: str, since: int, above: int) -> int:
        return await self._write(sweeping.renumber, workspace_id, since, above, self._clock.now(), self._times)

    async def record_presence(self, subscribers: Sequence[Subscriber]) -> None:
        if subscribers:
            await self._write(_record_presence, subscribers)

    async def subscribers(
        self, workspace_id: str, seen_since: int, limit: int, after: str = "", *, viewer: Viewer | None = None
    ) -> Sequence[Subscriber]:
        these = table.c.workspace_id == workspace_id, table.c.agent_id > after, table.c.seen_at >= seen_since
        record_presence = true() if viewer is None else of_orgs(viewer, table.c.org)
        query = select(table).where(*these, record_presence).order_by(table.c.agent_id).limit(limit)
        return [_subscriber(dict(row)) for row in await self._rows(query)]

    async def forget_subscribers(self, seen_before: int, limit: int) -> int:
        return await self._write(remove_rows, table, table.c.seen_at < seen_before, limit)


def _record_presence(connection: Connection, subscribers: Sequence[Subscriber]) -> None:
    # In a fixed order, so that two processes that report the same agents don't deadlock.
    known = sorted(subscribers, key=lambda item: (item.workspace_id, item.agent_id, item.seen_at))
    statement = _upsert(connection)
    for some in chunks(known):
        connection.execute(statement, [_row(element) for element in some])


def _upsert(connection: Connection) -> Insert:
    """Return the upsert. Cursor and time only rise: reports about an agent may arrive late."""
    if is_sqlite(connection):
        given = sqlite.insert(table)
        values = {
            "cursor_seq": func.max(table.c.cursor_seq, given.excluded.cursor_seq),
            "seen_at": func.max(table.c.seen_at, given.excluded.seen_at),
        }
        named = {name: given.excluded[name] for name in ("via", "org", "project")}
        return given.on_conflict_do_update(index_elements=["workspace_id", "agent_id"], set_=values | named)
    insert = mysql.insert(table)
    return insert.on_duplicate_key_update(
        cursor_seq=func.greatest(table.c.cursor_seq, insert.inserted.cursor_seq),
        seen_at=func.greatest(table.c.seen_at, insert.inserted.seen_at),
        via=insert.inserted.via,
        org=insert.inserted.org,
        project=insert.inserted.project,
    )


def _row(subscriber: Subscriber) -> dict[str, object]:
    row = asdict(subscriber)
    row["cursor_seq"] = row.pop("cursor")
    return row


def _subscriber(row: dict[str, object]) -> Subscriber:
    return Subscriber(cursor=row.pop("cursor_seq"), **row)  # type: ignore[arg-type] # the columns are its fields


def _floor(connection: Connection, workspace_id: str, before: int) -> int:
    # Use the oldest one that stays: earlier ones may have been removed.
    later = broadcasts.c.workspace_id == workspace_id, broadcasts.c.at >= before
    first = connection.scalar(select(broadcasts.c.seq).where(*later).order_by(broadcasts.c.seq).limit(1))
    return last_seq(connection, workspace_id) if first is None else first - 1
