"""When two memories say the same: what the duplicate key is made of."""

from openbrain.domain.ids import joined_hash
from openbrain.domain.memory import Memory, Scope

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


def _place(memory: Memory) -> tuple[str, str, str, str, str]:
    agent = memory.agent_id if memory.memory_scope in PERSONAL else ""
    return memory.workspace_id, memory.memory_scope.value, memory.org, memory.project, agent
