"""Expiry of memories and idempotency keys; and the default expiry of a session's memories, by the session's policy."""

from collections.abc import Sequence

from sqlalchemy import Connection, delete, select

from openbrain.adapters.sql.outbox.journal import Journal
from openbrain.adapters.sql.schema.agent_tables import OF_SESSION, session_agents, sessions
from openbrain.adapters.sql.schema.memory_rows import WHOLE, memory_from_row
from openbrain.adapters.sql.schema.tables import idempotency_keys, memories
from openbrain.adapters.sql.writes.ending import SYSTEM_ACTOR, end
from openbrain.domain.memory import DAY, Memory, Reason, Scope
from openbrain.ports.agents import Policy
from openbrain.ports.store.writes import Write

_Key = tuple[str, str, str]


def expire_due(connection: Connection, limit: int, now: int) -> int:
    due = (
        select(*WHOLE)
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


def by_policy(connection: Connection, writes: Sequence[Write]) -> Sequence[Write]:
    """Set the expiry of session memories that have none, by the policies of their sessions. An unknown session has no
    policy."""
    open_ended = [write.memory for write in writes if _open_ended(write.memory)]
    if not open_ended:
        return writes
    lifetimes = {key: _lifetime(connection, key) for key in {_key(memory) for memory in open_ended}}
    return [_ending(write, lifetimes) for write in writes]


def _ending(write: Write, lifetimes: dict[_Key, int | None]) -> Write:
    memory = write.memory
    lifetime = lifetimes.get(_key(memory)) if _open_ended(memory) else None
    return (
        write if lifetime is None else write._replace(memory=memory._replace(expires_at=memory.created_at + lifetime))
    )


def _open_ended(memory: Memory) -> bool:
    return memory.memory_scope is Scope.SESSION and memory.expires_at is None


def _key(memory: Memory) -> _Key:
    return memory.workspace_id, memory.session_id, memory.agent_id


def _lifetime(connection: Connection, key: _Key) -> int | None:
    workspace_id, session_id, agent_id = key
    mine = (
        session_agents.c.workspace_id == workspace_id,
        session_agents.c.session_id == session_id,
        session_agents.c.agent_id == agent_id,
    )
    query = select(sessions.c.policy, sessions.c.days).join(session_agents, OF_SESSION).where(*mine)
    row = connection.execute(query).one_or_none()
    return None if row is None or row.policy == Policy.STAY.value else row.days * DAY
