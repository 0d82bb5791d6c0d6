"""The duplicate key: its contents, and the memory that holds it.

A live memory holds its key. So does a memory that was archived into another: storing the same content again returns
that other one, as long as it is in the same place and was neither changed nor confirmed since.
"""

from collections.abc import Sequence

from sqlalchemy import Connection, update

from openbrain.adapters.sql.schema.tables import memories
from openbrain.adapters.sql.writes import locked_reads
from openbrain.domain.ids import joined_hash
from openbrain.domain.memory import Memory, Reason, Scope

PERSONAL = (Scope.AGENT, Scope.SESSION)


def dedupe_key(memory: Memory) -> str:
    """Return a hash of a memory's place and content.

    The agent is part of the place only if no other agent sees the memory; what a whole project sees is one memory,
    whoever stores it. A memory with an identity is identified by that, whatever its content.
    """
    if memory.identity:
        return joined_hash("identity", memory.workspace_id, memory.agent_id, memory.identity)
    turn = "" if memory.turn is None else str(memory.turn)
    return joined_hash(*_place(memory), memory.session_id, turn, memory.content_hash)


def says_the_same(new: Memory, old: Memory) -> bool:
    """True if replacing `old` by `new` would change nothing: same content, same readers."""
    return new.content_hash == old.content_hash and _place(new) == _place(old)


def same_live_memory(connection: Connection, holder: Memory, offered: Memory, now: int) -> Memory | None:
    """Return the live memory with the content of `offered`: the holder of its key, or the one the holder was archived
    into."""
    if holder.alive(now):
        return holder
    head = locked_reads.head(connection, holder.id) if holder.reason is Reason.ARCHIVED else None
    if head is None or not head.alive(now) or _place(head) != _place(offered):
        return None
    return head if head.confirmed_at <= (holder.archived_at or 0) else None


def release(connection: Connection, ids: Sequence[str]) -> None:
    connection.execute(update(memories).where(memories.c.id.in_(ids)).values(dedupe_key=None))


def keep_keys(connection: Connection, rows: Sequence[Memory]) -> None:
    """Give rows that were just archived into others their keys back, unless others hold them by now."""
    keys = {row.id: dedupe_key(row) for row in rows}
    taken = locked_reads.holders(connection, list(keys.values()))
    for memory_id, key in keys.items():
        if key not in taken:
            connection.execute(update(memories).where(memories.c.id == memory_id).values(dedupe_key=key))


def _place(memory: Memory) -> tuple[str, str, str, str, str]:
    agent = memory.agent_id if memory.memory_scope in PERSONAL else ""
    return memory.workspace_id, memory.memory_scope.value, memory.org, memory.project, agent
