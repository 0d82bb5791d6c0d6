"""What time does to memories and idempotency keys."""

from sqlalchemy import Connection, delete, select

from openbrain.adapters.sql.outbox.journal import Journal
from openbrain.adapters.sql.schema.memory_rows import MEMORY_COLUMNS, memory_from_row
from openbrain.adapters.sql.schema.tables import idempotency_keys, memories
from openbrain.adapters.sql.writes.ending import SYSTEM_ACTOR, end
from openbrain.domain.memory import Reason


def expire_due(connection: Connection, limit: int, now: int) -> int:
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
        end(connection, journal, rows, Reason.EXPIRED, SYSTEM_ACTOR)
        journal.write(connection)
    return len(rows)


def purge_idempotency_keys(connection: Connection, limit: int, now: int) -> int:
    past = idempotency_keys.c.expires_at
    last = select(past).where(past <= now).order_by(past).limit(1).offset(limit - 1)
    until = connection.scalar(last)
    return connection.execute(delete(idempotency_keys).where(past <= (now if until is None else until))).rowcount
