"""The table `thoughts` of the OpenBrain on PostgreSQL with pgvector: a turn or a note a row."""

from collections.abc import Mapping
from typing import Any

from openbrain.contract.thoughts import ThoughtBody
from openbrain.domain.ids import joined_hash
from openbrain.domain.memory import MemoryType, Scope
from openbrain_cli.memories.transfer.foreign import fields
from openbrain_cli.memories.transfer.foreign.rows import Row

STORE = "thoughts"


def workspace(_: Row) -> str:
    """That store has none."""
    return ""


def line(row: Row, agent: str) -> Mapping[str, Any]:
    """A line of an export; a turn of a session that comes again, from here or from the agent itself, is stored once."""
    metadata = fields.as_object(row.get("metadata"))
    created = fields.moment(row.get("created_at") or row.get("createdAt"))
    updated = fields.moment(row.get("updated_at") or row.get("updatedAt")) or created
    content = fields.text(row.get("content"))
    turn = ThoughtBody.model_construct(content=content, metadata=metadata)
    role = metadata.get("role")
    return {
        "id": fields.memory_id(STORE, row.get("id")),
        "content": content,
        "type": MemoryType.CONTEXT,
        "memory_scope": Scope.AGENT,
        "agent_id": agent,
        "session_id": turn.session_id or None,
        "turn": turn.turn,
        "speaker": role if isinstance(role, str) else None,
        "metadata": metadata,
        "source": fields.text(row.get("source")) or "manual",
        "identity": joined_hash(turn.identity, "1") if turn.identity else "",
        "allow_duplicate": not turn.identity,
        "occurred_at": created,
        "confirmed_at": updated,
        "created_at": created,
        "updated_at": updated,
    }
