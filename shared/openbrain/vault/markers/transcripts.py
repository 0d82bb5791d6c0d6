"""Transcripts of agents' sessions: JSON lines as Claude Code writes them, one record per line. Other lines are skipped.

Their content comes from people, models and tools: it is untrusted, and quoted, counted and cut, never obeyed.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import orjson

from openbrain.domain.times import from_iso, to_datetime

LINE_BYTES: Final = 16 * 1024 * 1024
"""Longer lines are skipped."""
_COMPACTED = re.compile(
    r"(?<![\w/])/compact\b|\bresuming from\b.{0,80}?\bconversation\b"
    r"|\bcontinued from a previous conversation\b",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class ToolUse:
    name: str
    given: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The fields of one line that are used. Absent strings are ''."""

    kind: str
    """user, assistant, or another kind, of which only the time counts (start and end of the session)."""
    at: datetime | None = None
    """In UTC; None if there is no readable time."""
    cwd: str = ""
    branch: str = ""
    text: str = ""
    """All text blocks, joined by line breaks."""
    tools: tuple[ToolUse, ...] = ()

    @property
    def compacts(self) -> bool:
        """True if the user compacted the conversation here, or continues a compacted one."""
        return self.kind == "user" and _COMPACTED.search(self.text) is not None


def lines(path: Path, *, longest: int = LINE_BYTES) -> Iterator[bytes]:
    """Yield the lines of a file, one in memory at a time; skip longer ones. Raises OSError."""
    with path.open("rb") as file:
        at_start = True
        while part := file.readline(longest):
            ends = part.endswith(b"\n") or len(part) < longest
            if at_start and ends:
                yield part
            at_start = ends


def records(raw: Iterable[bytes]) -> Iterator[Record]:
    """The readable records of these lines, in order."""
    for line in raw:
        record = _object(line)
        if record is not None:
            yield _record(record)


def _object(line: bytes) -> dict[str, Any] | None:
    if not line.strip():
        return None
    try:
        parsed = orjson.loads(line)
    except orjson.JSONDecodeError:
        try:
            # Python's parser also takes half of a surrogate pair, as of an emoji that was cut.
            loaded = json.loads(line.decode(errors="replace"))
            parsed = orjson.loads(json.dumps(loaded, ensure_ascii=False).encode(errors="replace"))
        except (ValueError, RecursionError):
            return None
    return parsed if isinstance(parsed, dict) else None


def _record(line: Mapping[str, Any]) -> Record:
    message = line.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    texts = [block["text"] for block in blocks if block.get("type") == "text" and isinstance(block.get("text"), str)]
    return Record(
        kind=_text(line.get("type")),
        at=moment(line.get("timestamp")),
        cwd=_text(line.get("cwd")),
        branch=_text(line.get("gitBranch")),
        text=content if isinstance(content, str) else "\n".join(texts),
        tools=tuple(_tool(block) for block in blocks if block.get("type") == "tool_use"),
    )


def _tool(block: Mapping[str, Any]) -> ToolUse:
    given = block.get("input")
    return ToolUse(_text(block.get("name")) or "unknown", given if isinstance(given, dict) else {})


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def project_of(cwd: str) -> str:
    """The last part of a folder's path; `unknown` if there is none."""
    return re.split(r"[/\\]", cwd.rstrip("/\\"))[-1] or "unknown"


def moment(value: object) -> datetime | None:
    """An ISO time in UTC; without a zone it is taken as UTC. None for anything else."""
    at = from_iso(value) if isinstance(value, str) else None
    return None if at is None else to_datetime(at)
