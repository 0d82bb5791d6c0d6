"""The duplicate key: what it is made of, and the memory that holds it.

A living memory holds its key. So does one that was archived behind another: who says it again is told of the one that
stands for it, as long as that one is in the same place and nobody has changed or confirmed it since.
"""

from collections.abc import Sequence

from sqlalchemy import Connection, update

from openbrain.adapters.sql.schema.tables import memories
from openbrain.adapters.sql.writes import locked_reads
from openbrain.domain.ids import joined_hash
from openbrain.domain.memory import Memory, Reason, Scope

PERSONAL = (Scope.AGENT, Scope.SESSION)


def dedupe_key(memory: Memory) -> str:
    """One hash over where a memory belongs and what it says.

    The agent belongs to it where only that agent sees the memory; what everyone of a project sees is one memory,
    whoever says it. What has an identity of its own is the same memory by that, whatever it says.
    """
    if memory.identity:
        return joined_hash("identity", memory.workspace_id, memory.agent_id, memory.identity)
    turn = "" if memory.turn is None else str(memory.turn)
    return joined_hash(*_place(memory), memory.session_id, turn, memory.content_hash)


def says_the_same(new: Memory, old: Memory) -> bool:
    """Whether `new` in the place of `old` would change nothing: the same content for the same readers."""
    return new.content_hash == old.content_hash and _place(new) == _place(old)


def stands_for(connection: Connection, holder: Memory, offered: Memory, now: int) -> Memory | None:
    """The living memory that says what `offered` does: the holder of its key, or what that was archived behind."""
    if holder.alive(now):
        return holder
    head = locked_reads.head(connection, holder.id) if holder.reason is Reason.ARCHIVED else None
    if head is None or not head.alive(now) or _place(head) != _place(offered):
        return None
    return head if head.confirmed_at <= (holder.archived_at or 0) else None


def release(connection: Connection, ids: Sequence[str]) -> None:
    connection.execute(update(memories).where(memories.c.id.in_(ids)).values(dedupe_key=None))


def keep_keys(connection: Connection, rows: Sequence[Memory]) -> None:
    """Give rows just archived behind others their keys again, where nobody else has them by now."""
    keys = {row.id: dedupe_key(row) for row in rows}
    taken = locked_reads.holders(connection, list(keys.values()))
    for memory_id, key in keys.items():
        if key not in taken:
            connection.execute(update(memories).where(memories.c.id == memory_id).values(dedupe_key=key))


def _place(memory: Memory) -> tuple[str, str, str, str, str]:
    agent = memory.agent_id if memory.memory_scope in PERSONAL else ""
    return memory.workspace_id, memory.memory_scope.value, memory.org, memory.project, agent
