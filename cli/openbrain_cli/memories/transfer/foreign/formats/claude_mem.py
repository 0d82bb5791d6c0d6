"""claude-mem: observations and summaries of Claude Code sessions, and the user's prompts."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from openbrain.domain import limits
from openbrain.domain.memory import MemoryType
from openbrain_cli.memories.transfer.foreign import databases, fields
from openbrain_cli.memories.transfer.foreign.formats.format import Format, Reader
from openbrain_cli.memories.transfer.foreign.rows import BrokenRow, Row, Rows, record
from openbrain_cli.memories.transfer.foreign.tables import DATABASES, json_object

NAME = "claude-mem"
_TABLES = {"observations": "observation", "session_summaries": "summary", "user_prompts": "prompt"}
_LISTS = {"observations": "observation", "summaries": "summary", "prompts": "prompt"}
_TYPES = {
    "decision": MemoryType.DECISION,
    "bugfix": MemoryType.BUG,
    "feature": MemoryType.OBSERVATION,
    "refactor": MemoryType.OBSERVATION,
    "discovery": MemoryType.RESEARCH,
    "change": MemoryType.OBSERVATION,
}
_SUMMARY = ("request", "investigated", "learned", "completed", "next_steps", "notes")
_FILES = ("files_read", "files_modified", "files_edited")


def rows_of(path: Path) -> Reader | None:
    """Read claude-mem's database, or a file from its export script."""
    if path.suffix.lower() in DATABASES:
        names = databases.sqlite_tables(path)
        return partial(_stored, path, names) if {"observations", "sdk_sessions"} <= names else None
    if path.suffix.lower() != ".json":
        return None
    whole = json_object(path)
    return partial(_exported, whole) if {"exportedAt", "observations", "summaries", "prompts"} <= whole.keys() else None


def _stored(path: Path, names: set[str]) -> Rows:
    for table, kind in _TABLES.items():
        if table in names:
            for row in databases.sqlite_rows(path, f"SELECT * FROM {table}"):  # noqa: S608 - the name is one of ours
                yield _row(kind, row)


def _exported(whole: Mapping[str, Any]) -> Rows:
    for name, kind in _LISTS.items():
        for row in map(record, whole[name] if isinstance(whole[name], list) else ()):
            yield row if isinstance(row, BrokenRow) else _row(kind, row)


def _row(kind: str, row: Row) -> Row:
    """Make a row. Its id comes from session, kind and time, as claude-mem's ids are unique in one database only."""
    session = row.get("memory_session_id") or row.get("content_session_id") or row.get("sdk_session_id")
    at = row.get("created_at_epoch") or row.get("created_at")
    own = f"{session}/{kind}/{row.get('title') or row.get('prompt_number') or ''}/{at}"
    return {**row, "id": own, "created_at": row.get("created_at") or at, "session": session, "is_a": kind}


def line(row: Row, _agent: str) -> Mapping[str, Any]:
    """The row as a line, with its session; an observation's concepts become tags, its files metadata."""
    metadata: dict[str, Any] = {name: _listed(row.get(name)) for name in _FILES if row.get(name)}
    metadata |= {"session": row["session"], "claude_mem": row["is_a"]}
    tags = [tag for tag in fields.as_tags(row.get("concepts")) if len(tag) <= limits.TAG_CHARS]
    return fields.fact(
        memory_id=fields.memory_id(NAME, row["id"]),
        content=_content(row),
        kind=_kind(row),
        source=NAME,
        created=fields.moment(row.get("created_at")),
        project=row.get("project") or None,
        tags=tags[: limits.TAGS],
        metadata=fields.as_object(metadata),
    )


def _kind(row: Row) -> MemoryType:
    if row["is_a"] != "observation":
        return MemoryType.CONTEXT
    return _TYPES.get(fields.text(row.get("type")), MemoryType.OBSERVATION)


def _content(row: Row) -> str:
    if row["is_a"] == "prompt":
        return fields.text(row.get("prompt_text"))
    if row["is_a"] == "summary":
        sections = [(name.replace("_", " "), fields.text(row.get(name)).strip()) for name in _SUMMARY]
        return "\n\n".join(f"{name.capitalize()}: {text}" for name, text in sections if text)
    facts = "\n".join(f"- {fact}" for fact in _listed(row.get("facts")))
    parts = [*(fields.text(row.get(name)).strip() for name in ("title", "subtitle", "narrative")), facts]
    whole = "\n\n".join(part for part in parts if part)
    return whole or fields.text(row.get("text"))


def _listed(value: object) -> list[str]:
    """A list, or a list in JSON; any other text is one element, even if it has commas."""
    if isinstance(value, str) and not value.lstrip().startswith("["):
        return [value] if value.strip() else []
    return fields.as_tags(value)


FORMAT = Format(name=NAME, rows_of=rows_of, line=line)
