"""The end of a session's memories, where they say nothing of it themselves: by the policy that it was started with."""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection, and_, select

from openbrain.adapters.sql.schema.agent_tables import session_agents, sessions
from openbrain.domain.memory import DAY, Memory, Scope
from openbrain.ports.agents import Policy
from openbrain.ports.store.writes import Write

_Key = tuple[str, str, str]


def by_policy(connection: Connection, writes: Sequence[Write]) -> Sequence[Write]:
    """The same, with expiries. A session that nobody started has no policy."""
    open_ended = [write.memory for write in writes if _open_ended(write.memory)]
    if not open_ended:
        return writes
    lifetimes = {key: _lifetime(connection, key) for key in {_key(memory) for memory in open_ended}}
    return [_ending(write, lifetimes) for write in writes]


def _ending(write: Write, lifetimes: dict[_Key, int | None]) -> Write:
    memory = write.memory
    lifetime = lifetimes.get(_key(memory)) if _open_ended(memory) else None
    return (
        write if lifetime is None else replace(write, memory=replace(memory, expires_at=memory.created_at + lifetime))
    )


def _open_ended(memory: Memory) -> bool:
    return memory.memory_scope is Scope.SESSION and memory.expires_at is None


def _key(memory: Memory) -> _Key:
    return memory.workspace_id, memory.session_id, memory.agent_id


def _lifetime(connection: Connection, key: _Key) -> int | None:
    of_it = and_(
        session_agents.c.workspace_id == sessions.c.workspace_id,
        session_agents.c.session_id == sessions.c.id,
        session_agents.c.owner == sessions.c.agent_id,
    )
    workspace_id, session_id, agent_id = key
    mine = (
        session_agents.c.workspace_id == workspace_id,
        session_agents.c.session_id == session_id,
        session_agents.c.agent_id == agent_id,
    )
    query = select(sessions.c.policy, sessions.c.days).join(session_agents, of_it).where(*mine)
    row = connection.execute(query).one_or_none()
    return None if row is None or row.policy == Policy.STAY.value else row.days * DAY
