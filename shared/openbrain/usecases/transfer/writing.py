"""Writes the lines of an export (contents: see `openbrain.usecases.transfer.lines`)."""

from collections.abc import Mapping

import orjson

from openbrain.domain.times import to_iso
from openbrain.ports.cleaning import OtherText
from openbrain.ports.store.transfer import HistoryRow, Link, StoredMemory
from openbrain.usecases.transfer.lines import FORMAT, FORMAT_VERSION

_AS_THEY_ARE = (
    *("id", "content", "type", "memory_scope", "org", "project", "agent_id", "session_id", "turn", "speaker", "title"),
    *("aliases", "tags", "metadata", "source", "confidence", "supersedes_id", "identity", "version"),
)
_TIMES = ("occurred_at", "confirmed_at", "created_at", "updated_at", "expires_at", "archived_at", "deleted_at")


def as_line(fields: Mapping[str, object]) -> bytes:
    """One line, including its line end."""
    return orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE)


def header_line(
    *,
    export_id: str,
    exported_at: int,
    workspace_id: str,
    whole: bool,
    filters: Mapping[str, object],
    cursor: str | None = None,
) -> bytes:
    return as_line(
        {
            "kind": "header",
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "export_id": export_id,
            "exported_at": to_iso(exported_at),
            "workspace_id": workspace_id,
            "whole": whole,
            "filters": filters,
            "cursor": cursor,
        }
    )


def memory_line(kept: StoredMemory) -> bytes:
    """Encode a `MemoryLine`, without absent values and without numbers that each database and index assigns anew."""
    memory = kept.memory
    fields: dict[str, object] = {"kind": "memory", **{name: getattr(memory, name) for name in _AS_THEY_ARE}}
    for name in _TIMES:
        at = getattr(memory, name)
        fields[name] = None if at is None else to_iso(at)
    fields["reason"] = memory.reason
    if not memory.wants_vector:
        fields["embed"] = False
    if not (kept.unique or memory.ended):
        fields["allow_duplicate"] = True
    return as_line({name: value for name, value in fields.items() if value is not None and value not in ("", (), {})})


def history_line(entry: HistoryRow) -> bytes:
    return as_line(
        {
            "kind": "history",
            "memory_id": entry.memory_id,
            "version": entry.version,
            "revision": entry.revision,
            "action": entry.action,
            "actor": entry.actor,
            "at": to_iso(entry.at),
            "before": entry.before and orjson.Fragment(entry.before),
            "after": entry.after and orjson.Fragment(entry.after),
            "note": entry.note,
        }
    )


def lineage_line(link: Link) -> bytes:
    at = to_iso(link.created_at)
    named = {"child_id": link.child_id, "parent_id": link.parent_id, "relation": link.kind}
    return as_line({"kind": "lineage", **named, "created_at": at})


def other_text_line(row: OtherText) -> bytes:
    return as_line({"kind": "beside", "what": row.what, "data": row.data})


def mark_line(cursor: str) -> bytes:
    return as_line({"kind": "mark", "cursor": cursor})


def footer_line(*, memories: int, history: int, lineage: int, beside: int = 0, digest: str) -> bytes:
    """Encode a `Footer`; `digest` is the SHA-256 in hex."""
    counts = {"memories": memories, "history": history, "lineage": lineage, "beside": beside}
    return as_line({"kind": "footer", **counts, "digest": f"sha256:{digest}"})
