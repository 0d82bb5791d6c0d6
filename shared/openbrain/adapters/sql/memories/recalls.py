"""Answered recalls, and how often each memory was found."""

from collections import Counter
from collections.abc import Sequence

import orjson
from sqlalchemy import Connection, bindparam, delete, func, select, update

from openbrain.adapters.sql.engine.statements import chunks
from openbrain.adapters.sql.outbox import relay
from openbrain.adapters.sql.outbox.event_bytes import recalled
from openbrain.adapters.sql.schema.inserts import insert_rows
from openbrain.adapters.sql.schema.lifecycle_tables import without_hold
from openbrain.adapters.sql.schema.tables import memory_usage, recall_feedback
from openbrain.adapters.sql.schema.tables import recalls as table
from openbrain.ports.store.memories import RecallRecord

_COUNT = (
    update(memory_usage)
    .where(memory_usage.c.memory_id == bindparam("found"))
    .values(
        recall_count=memory_usage.c.recall_count + bindparam("times"),
        last_recalled_at=func.coalesce(bindparam("at"), memory_usage.c.last_recalled_at),
    )
)


def record(connection: Connection, recalls: Sequence[RecallRecord]) -> None:
    known = set(connection.scalars(select(table.c.id).where(table.c.id.in_([recall.id for recall in recalls]))))
    fresh = [recall for recall in recalls if recall.id not in known]
    insert_rows(connection, table, [_row(item) for item in fresh])
    _count(connection, fresh)
    relay.append(connection, [recalled(item) for item in fresh])


def _row(recall: RecallRecord) -> tuple[object, ...]:
    results = orjson.dumps([[memory_id, score] for memory_id, score in recall.results]).decode()
    return recall.id, recall.workspace_id, recall.agent_id, recall.query, results, recall.took_ms, recall.at


def _count(connection: Connection, recalls: Sequence[RecallRecord]) -> None:
    times = Counter(memory_id for recall in recalls for memory_id, _ in recall.results)
    if not times:
        return
    at = max(recall.at for recall in recalls)
    # In a fixed order: two processes that count the same memories wait for each other instead of deadlocking.
    ids = sorted(times)
    insert_rows(connection, memory_usage, [(memory_id, 0, None, 0, 0) for memory_id in ids], missing=True)
    connection.execute(_COUNT, [{"found": memory_id, "times": times[memory_id], "at": at} for memory_id in ids])


def purge(connection: Connection, before: int, limit: int, workspace_id: str | None) -> int:
    past = [table.c.created_at < before, without_hold(table.c.workspace_id)]
    past += [] if workspace_id is None else [table.c.workspace_id == workspace_id]
    ids = list(connection.scalars(select(table.c.id).where(*past).order_by(table.c.created_at).limit(limit)))
    for some in chunks(ids):
        connection.execute(delete(recall_feedback).where(recall_feedback.c.recall_id.in_(some)))
    return connection.execute(delete(table).where(table.c.id.in_(ids))).rowcount if ids else 0
