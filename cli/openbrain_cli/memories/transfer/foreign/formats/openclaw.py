"""OpenClaw's transcripts: now a database per agent, formerly a file of lines per session."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from openbrain_cli.memories.transfer.foreign import databases, fields
from openbrain_cli.memories.transfer.foreign.formats.format import Format, Reader
from openbrain_cli.memories.transfer.foreign.rows import BrokenRow, Row, Rows
from openbrain_cli.memories.transfer.foreign.tables import DATABASES, json_object, records

NAME = "openclaw-sessions"
_FOLDER = "agents"
"""Contains one folder per agent, with the agent's name."""
_EVENTS = (
    "SELECT e.*, w.session_key FROM transcript_events e "
    "LEFT JOIN {windows} w ON w.session_id = e.session_id ORDER BY e.session_id, e.seq"
)
_EVENT_BYTES = 4 * 1024 * 1024
"""OpenClaw's maximum size of an event."""
_ROLES = {"user": "user", "assistant": "assistant", "toolResult": "tool"}


def rows_of(path: Path) -> Reader | None:
    """Read a transcript that begins with its session, or an OpenClaw database."""
    if path.suffix.lower() in DATABASES:
        names = databases.sqlite_tables(path)
        windows = next((name for name in ("session_windows", "sessions") if name in names), "")
        return partial(_stored, path, windows) if "transcript_events" in names and windows else None
    if path.suffix.lower() != ".jsonl":
        return None
    first = next(iter(records(path)), None)
    begins = isinstance(first, dict) and first.get("type") == "session" and "id" in first
    return partial(_lines, path) if begins else None


def _stored(path: Path, windows: str) -> Rows:
    for row in databases.sqlite_rows(path, _EVENTS.format(windows=windows)):
        text = row["event_json"]
        event = _parsed(_unpacked(row.get("event_zstd") or b"") if text is None else text)
        yield _event(event, row["session_key"] or row["session_id"], row["seq"], path)


def _lines(path: Path) -> Rows:
    session = path.stem.split("-topic-")[0]
    keys = json_object(path.with_name("sessions.json"))
    key = next((key for key, entry in keys.items() if _session(entry) == session), session)
    for number, row in enumerate(records(path)):
        yield row if isinstance(row, BrokenRow) else _event(row, key, number, path)


def _session(entry: Any) -> str:
    return str(entry.get("sessionId")) if isinstance(entry, dict) else ""


def _event(event: Any, key: str, number: int, path: Path) -> Row | BrokenRow:
    if not isinstance(event, dict):
        return BrokenRow("is no event")
    message = event.get("message")
    if event.get("type") != "message" or not isinstance(message, dict) or str(message.get("role")) not in _ROLES:
        return BrokenRow("is no message of user, assistant or tool")
    return {
        "id": f"{key}/{event.get('id') or number}",
        "created_at": event.get("timestamp") or message.get("timestamp"),
        "session": key,
        "number": number,
        "message": message,
        "agent": _agent(path),
    }


def _unpacked(packed: bytes) -> str:
    """The text of an event that OpenClaw stored compressed; '' if it can't be decompressed."""
    import zstandard

    with suppress(zstandard.ZstdError, ValueError, TypeError):
        if zstandard.frame_content_size(packed) <= _EVENT_BYTES:
            return zstandard.ZstdDecompressor().decompress(packed, max_output_size=_EVENT_BYTES).decode()
    return ""


def _parsed(text: str) -> Any:
    with suppress(ValueError, TypeError, RecursionError):
        return json.loads(text)
    return None


def _agent(path: Path) -> str:
    parts = path.resolve().parts
    return parts[parts.index(_FOLDER) + 1] if _FOLDER in parts[:-2] else ""


def line(row: Row, agent: str) -> Mapping[str, Any]:
    """The row as a turn, as the context engine stores it: its text, including calls of tools."""
    own, message = fields.memory_id(NAME, row["id"]), row["message"]
    whose = agent or row["agent"] or "main"
    return fields.thought(
        memory_id=own,
        content="\n".join(_texts(message)),
        source=f"openclaw:{whose}",
        metadata={
            "sessionId": row["session"],
            "turn": row["number"],
            "role": _ROLES[message["role"]],
            "type": "message",
            "advancementKey": f"import:{own}",
        },
        agent=whose,
        created=fields.moment(row["created_at"]),
    )


def _texts(message: Mapping[str, Any]) -> Iterator[str]:
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    if message["role"] == "toolResult":
        yield f"[result of {message.get('toolName') or 'a tool'}]"
    for part in parts:
        match part:
            case {"type": "text", "text": str(text)} if text.strip():
                yield text
            case {"type": "toolCall"}:
                given = json.dumps(part.get("arguments") or {}, ensure_ascii=False)
                yield f"[call of {part.get('name') or 'a tool'} {given}]"
            case {"type": "image"}:
                yield "[image]"


FORMAT = Format(name=NAME, rows_of=rows_of, line=line)
