"""Values as JSON objects: the shapes of `openbrain.contract`, built plainly because every answer pays for it."""

from collections.abc import Container, Iterable, Mapping
from functools import lru_cache
from typing import Any

from openbrain.domain import times
from openbrain.domain.memory import Memory
from openbrain.ports.memories import HistoryEntry
from openbrain.ports.tenants import ApiKey, Usage, Workspace
from openbrain_api.chains import NOTHING, Behind

Json = dict[str, object]
to_iso = lru_cache(4096)(times.to_iso)
"""A memory has four times, mostly the same one, and is shown more than once."""


def _at(at: int | None) -> str | None:
    return None if at is None else to_iso(at)


def memory_json(memory: Memory, now: int, behind: Behind = NOTHING, score: float | None = None) -> Json:
    """`MemoryAnswer`."""
    return {
        "id": memory.id,
        "agent_id": memory.agent_id or None,
        "type": memory.type,
        "content": memory.content,
        "tags": memory.tags,
        "org": memory.org or None,
        "project": memory.project or None,
        "confidence": memory.confidence,
        "score": score,
        "source": memory.source,
        "supersedes_id": behind.parent,
        "supersedes_count": behind.depth,
        "expires_at": _at(memory.expires_at),
        "deleted_at": _at(memory.deleted_at),
        "created_at": to_iso(memory.created_at),
        "updated_at": to_iso(memory.updated_at),
        "occurred_at": to_iso(memory.occurred_at),
        "confirmed_at": to_iso(memory.confirmed_at),
        "memory_scope": memory.memory_scope,
        "session_id": memory.session_id or None,
        "turn": memory.turn,
        "speaker": memory.speaker or None,
        "metadata": memory.metadata,
        "version": memory.version,
        "state": memory.state(now),
        "indexed": memory.indexed and memory.alive(now),
        "reason": memory.reason,
        "index_error": _index_error(memory),
    }


def _index_error(memory: Memory) -> str | None:
    errors = (
        memory.text_error if memory.text_error_revision == memory.revision else "",
        memory.vector_error if memory.vector_error_revision == memory.revision else "",
    )
    return "; ".join(error for error in errors if error) or None


NAMING = ("superseded_by", "supersedes_id")
"""Where a line of the audit names another memory."""


def named(entries: Iterable[HistoryEntry]) -> set[str]:
    """The other memories that these lines name."""
    told = [part for entry in entries for part in (entry.before, entry.after) if part]
    return {part[name] for part in told for name in NAMING if isinstance(part.get(name), str)}


def _told(part: Mapping[str, Any] | None, seen: Container[str]) -> Mapping[str, Any] | None:
    if part is None or all(part.get(name) is None or part[name] in seen for name in NAMING):
        return part
    return {name: value for name, value in part.items() if name not in NAMING or value in seen}


def history_json(entry: HistoryEntry, seen: Container[str]) -> Json:
    """`HistoryLine`. `seen`: the other memories that may be named."""
    return {
        "version": entry.version,
        "revision": entry.revision,
        "action": entry.action,
        "actor": entry.actor,
        "at": to_iso(entry.at),
        "before": _told(entry.before, seen),
        "after": _told(entry.after, seen),
        "reason": entry.reason,
    }


def workspace_json(workspace: Workspace, usage: Usage | None = None) -> Json:
    """`WorkspaceAnswer`."""
    return {
        "id": workspace.id,
        "name": workspace.name,
        "created_at": to_iso(workspace.created_at),
        "max_memories": workspace.max_memories,
        "max_bytes": workspace.max_bytes,
        "memories": usage and usage.memories,
        "bytes": usage and usage.bytes,
    }


def key_json(key: ApiKey) -> Json:
    """`KeyAnswer`."""
    return {
        "id": key.id,
        "workspace_id": key.workspace_id,
        "name": key.name,
        "agent_id": key.agent_id or None,
        "permissions": sorted(key.permissions),
        "orgs": key.orgs,
        "without_org": key.without_org,
        "act_as": key.act_as,
        "created_at": to_iso(key.created_at),
        "expires_at": _at(key.expires_at),
        "revoked_at": _at(key.revoked_at),
        "rate_limit": key.rate_limit,
        "replaces_id": key.replaces_id,
    }
