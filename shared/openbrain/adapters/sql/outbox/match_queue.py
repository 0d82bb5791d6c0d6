"""The queue of memories to match against standing queries, written in the transaction that causes it.

The event of the same transaction is faster; the queue can't be lost.
"""

from collections.abc import Sequence

from sqlalchemy import Connection

from openbrain.adapters.sql.engine.statements import slots, upsert
from openbrain.domain.memory import MICROSECONDS
from openbrain.ports.subscriptions import QueuedMemory

EVENT_GRACE = 15 * MICROSECONDS
"""Time that the event of an embedded memory has before the queue entry is due."""

_LISTENING = "SELECT workspace_id FROM standing_query_counters WHERE workspace_id IN ({these}) AND queries > 0"


def enqueue(connection: Connection, memories: Sequence[QueuedMemory], now: int) -> None:
    """Queue the memories of workspaces that have standing queries."""
    named = tuple({memory.workspace_id for memory in memories})
    if not named:
        return
    query = _LISTENING.format(these=slots(connection, len(named)))
    listening = {row[0] for row in connection.exec_driver_sql(query, named).fetchall()}
    rows = [
        (*memory, now + EVENT_GRACE if memory.model else now) for memory in memories if memory.workspace_id in listening
    ]
    if not rows:
        return
    insert = upsert(connection, "match_queue", ("memory_id", "workspace_id"), ("revision", "model", "due_at"))
    connection.exec_driver_sql(insert, rows)
