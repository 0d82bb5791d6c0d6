"""The truth beside an index: what is due, and saying it again."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import partial

import orjson
from sqlalchemy import Connection, select, update

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.engine.statements import chunks
from openbrain.adapters.sql.indexes import expected_entries as due
from openbrain.adapters.sql.outbox import event_bytes, relay
from openbrain.adapters.sql.schema.tables import memories
from openbrain.adapters.sql.schema.tables import outbox as outbox_table
from openbrain.domain.times import from_datetime
from openbrain.ports.clock import Clock
from openbrain.ports.generations import Generation, IndexKind
from openbrain.ports.index import Sum
from openbrain.ports.reconciling import Due

_LIVING = memories.c.deleted_at.is_(None), memories.c.archived_at.is_(None), memories.c.reason.is_(None)
_TOLD = [memories.c[name] for name in ("id", "workspace_id", "version", "revision")]


class SqlReconciling:
    """`ports.reconciling.Reconciling`."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def walk(self, after: str, limit: int) -> str | None:
        """By the primary key."""
        return await self._database.read(lambda connection: due.walk(connection, after, limit))

    async def due_sums(self, generation: Generation, after: str, until: str) -> Mapping[int, Sum]:
        """One statement; the rows stay where they are."""
        return await self._database.read(lambda connection: due.sums(connection, generation, after, until))

    async def due_marks(self, generation: Generation, after: str, until: str) -> Sequence[int]:
        """As in the port."""
        return await self._database.read(lambda connection: due.marks(connection, generation, after, until))

    async def due_in(self, generation: Generation, after: str, until: str, buckets: Collection[int]) -> Sequence[Due]:
        """As in the port."""
        return await self._database.read(
            lambda connection: due.in_buckets(connection, generation, after, until, buckets)
        )

    async def unmarked(self, generation: Generation, after: str, until: str, limit: int) -> Sequence[Due]:
        """As in the port."""
        if not due.serves(generation):
            return ()
        return await self._database.read(lambda connection: due.behind(connection, generation, after, until, limit))

    async def due(self, generation: Generation, ids: Collection[str]) -> Mapping[str, Due]:
        """As in the port."""
        if not ids:
            return {}
        return await self._database.read(lambda connection: due.by_id(connection, generation, ids))

    async def any_marked(self, kind: IndexKind) -> bool:
        """As in the port."""
        found = select(memories.c.id).where(*_LIVING, memories.c[f"{kind}_revision"] > 0).limit(1)
        return await self._database.read(lambda connection: connection.scalar(found)) is not None

    async def forget_marks(self, kind: IndexKind, after: str, until: str) -> int:
        """In one transaction."""
        mark = memories.c[f"{kind}_revision"]
        these = memories.c.id > after, memories.c.id <= until, mark > 0, *_LIVING
        taken = update(memories).where(*these).values({mark.name: 0})
        return await self._database.write(lambda connection: connection.execute(taken).rowcount)

    async def unpublished_since(self) -> int | None:
        """As the event itself tells."""
        oldest = select(outbox_table.c.body).order_by(outbox_table.c.id).limit(1)
        body = await self._database.read(lambda connection: connection.scalar(oldest))
        return None if body is None else from_datetime(datetime.fromisoformat(orjson.loads(body)["time"]))

    async def announce_again(self, ids: Sequence[str], generation: str | None = None) -> int:
        """A transaction for each part, so that nobody waits long for the outbox."""
        now = self._clock.now()
        told = 0
        for some in chunks(sorted(ids)):
            told += await self._database.write(partial(_again, ids=some, generation=generation, now=now))
        return told

    async def lift(self, seen: Mapping[str, int]) -> int:
        """In one transaction."""
        now = self._clock.now()
        return await self._database.write(lambda connection: _lift(connection, seen, now))

    async def lift_all(self, seen: int, after: str, until: str) -> int:
        """In one transaction."""
        low = memories.c.id > after, memories.c.id <= until, memories.c.revision <= seen
        lifted = update(memories).where(*low).values(revision=seen + 1)
        return await self._database.write(lambda connection: connection.execute(lifted).rowcount)


def _again(connection: Connection, ids: Sequence[str], generation: str | None, now: int) -> int:
    rows = connection.execute(select(*_TOLD).where(memories.c.id.in_(ids)).order_by(memories.c.id)).all()
    relay.append(connection, [event_bytes.again(row, generation, now) for row in rows])
    return len(rows)


def _lift(connection: Connection, seen: Mapping[str, int], now: int) -> int:
    by_revision: defaultdict[int, list[str]] = defaultdict(list)
    for memory_id, revision in seen.items():
        by_revision[revision].append(memory_id)
    lifted = 0
    for revision, ids in sorted(by_revision.items()):
        for some in chunks(sorted(ids)):
            low = memories.c.id.in_(some), memories.c.revision <= revision
            lifted += connection.execute(update(memories).where(*low).values(revision=revision + 1)).rowcount
            _again(connection, some, None, now)
    return lifted
