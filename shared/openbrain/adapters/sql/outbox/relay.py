"""The outbox: events that were committed with their cause and wait to be published."""

from collections.abc import Sequence
from datetime import datetime

import orjson
from sqlalchemy import Connection, bindparam, func, select

from openbrain.adapters.sql.engine.database import TimedPart
from openbrain.adapters.sql.engine.statements import chunks, is_sqlite, slots
from openbrain.adapters.sql.outbox.event_bytes import Announcement, reindex
from openbrain.adapters.sql.schema.inserts import insert_rows
from openbrain.adapters.sql.schema.tables import memories, outbox
from openbrain.domain.events.streams import REINDEX
from openbrain.domain.times import from_datetime
from openbrain.ports.store.outbox import OutboxEntry

_OLDEST = select(outbox.c.id, outbox.c.stream, outbox.c.body).order_by(outbox.c.id).limit(bindparam("count"))
_LIVE = _OLDEST.where(outbox.c.id > bindparam("after"), outbox.c.stream != REINDEX.name)
_FIRST, _LAST = select(func.min(outbox.c.id)), select(func.max(outbox.c.id))
_SOME = select(func.count()).select_from(select(outbox.c.id).limit(bindparam("count")).subquery())
_ANNOUNCED = [memories.c[name] for name in ("id", "workspace_id", "version", "revision")]
_LATE = 2000
"""Ids before the last one checked, among which a late commit may still add an event."""


class SqlOutbox(TimedPart):
    """`ports.outbox.Outbox`. No cursor: a transaction that commits late may bring a lower id than one already seen."""

    _looked = 0

    async def take(self, limit: int) -> Sequence[OutboxEntry]:
        """Return the oldest events in order; low priority events (reindex) come after all others."""
        oldest = await self._read(_take, limit)
        waiting = [entry for entry in oldest if entry.stream == REINDEX.name]
        if not waiting:
            return oldest
        live = [entry for entry in oldest if entry.stream != REINDEX.name]
        if len(oldest) < limit:
            return [*live, *waiting]
        # Up to the id checked last time there were no live events: so a long import is not scanned again and again.
        after = max(oldest[-1].id, self._looked - _LATE)
        behind, top = await self._read(_live, limit - len(live), after)
        if not behind:
            self._looked = top
        return [*live, *behind, *waiting][:limit]

    async def waiting(self, limit: int) -> int:
        return await self._read(_waiting, limit)

    async def delete(self, ids: Sequence[int]) -> None:
        """Delete exactly these."""
        if ids:
            await self._write(_delete, ids)

    async def unpublished_since(self) -> int | None:
        """Return the time of the oldest event."""
        body = await self._scalar(select(outbox.c.body).order_by(outbox.c.id).limit(1))
        return None if body is None else from_datetime(datetime.fromisoformat(orjson.loads(body)["time"]))

    async def announce_again(self, ids: Sequence[str], generation: str | None = None) -> int:
        """Use one transaction per chunk, so that nobody waits long for the outbox."""
        now = self._clock.now()
        return sum([await self._write(announce_rows, some, generation, now) for some in chunks(sorted(ids))])

    async def announce(self, entries: Sequence[tuple[str, bytes]]) -> None:
        await self._write(append, entries)


def append(connection: Connection, announcements: Sequence[Announcement]) -> None:
    """Add events to the transaction that causes them."""
    if is_sqlite(connection):
        insert_rows(connection, outbox, announcements)
    else:
        # As text: the driver escapes bytes far more slowly, and the column stores the same bytes.
        insert_rows(connection, outbox, [(stream, body.decode()) for stream, body in announcements])


def announce_rows(connection: Connection, ids: Sequence[str], generation: str | None, now: int) -> int:
    rows = connection.execute(select(*_ANNOUNCED).where(memories.c.id.in_(ids)).order_by(memories.c.id)).all()
    append(connection, [reindex(row, generation, now) for row in rows])
    return len(rows)


def _take(connection: Connection, limit: int) -> Sequence[OutboxEntry]:
    return [OutboxEntry(*row) for row in connection.execute(_OLDEST, {"count": limit})]


def _live(connection: Connection, limit: int, after: int) -> tuple[Sequence[OutboxEntry], int]:
    """Return live rows, and the highest id before the read."""
    top = connection.scalar(_LAST) or 0
    rows = connection.execute(_LIVE, {"count": limit, "after": after}) if limit else ()
    return [OutboxEntry(*row) for row in rows], top


def _waiting(connection: Connection, limit: int) -> int:
    """Return the number of waiting events, derived from the lowest and highest id: two index lookups. Count only if
    that reaches the limit: ids have gaps, since low priority events stay while later ones are published."""
    first = connection.scalar(_FIRST)
    last = None if first is None else connection.scalar(_LAST)
    if first is None or last is None:
        return 0
    most = int(last - first + 1)
    return most if most < limit else int(connection.scalar(_SOME, {"count": limit}) or 0)


def _delete(connection: Connection, ids: Sequence[int]) -> None:
    for some in chunks(sorted(ids)):
        statement = f"DELETE FROM outbox WHERE id IN ({slots(connection, len(some))})"  # noqa: S608 - values are bound
        connection.exec_driver_sql(statement, tuple(some))
