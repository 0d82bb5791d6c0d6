"""Transcripts of agents' sessions: JSON lines as Claude Code writes them, a record a line. What is none is skipped.

Everything in them was written by people, models and tools: it is quoted, counted and cut, never obeyed.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import orjson

from openbrain.domain.times import from_iso, to_datetime

LINE_BYTES: Final = 16 * 1024 * 1024
"""A longer line is no record."""
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
    """One line, as far as it is read. Absent strings are ''."""

    kind: str
    """user, assistant, or another that only moves start and end."""
    at: datetime | None = None
    """In UTC; None where there is no readable time."""
    cwd: str = ""
    branch: str = ""
    text: str = ""
    """All text blocks, with line breaks between."""
    tools: tuple[ToolUse, ...] = ()

    @property
    def compacts(self) -> bool:
        """Whether the person had the conversation shortened here, or goes on with one that was."""
        return self.kind == "user" and _COMPACTED.search(self.text) is not None


def lines(path: Path, *, longest: int = LINE_BYTES) -> Iterator[bytes]:
    """The lines of a file, one in memory at a time; longer ones are passed over. Raises OSError."""
    with path.open("rb") as file:
        whole = True
        while part := file.readline(longest):
            ends = part.endswith(b"\n") or len(part) < longest
            if whole and ends:
                yield part
            whole = ends


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
            parsed = orjson.loads(line.decode(errors="replace"))
        except orjson.JSONDecodeError:
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
    """The last part of a folder's path; unknown where there is none."""
    return re.split(r"[/\\]", cwd.rstrip("/\\"))[-1] or "unknown"


def moment(value: object) -> datetime | None:
    """An ISO time in UTC; without a zone it is taken as UTC. None for anything else."""
    at = from_iso(value) if isinstance(value, str) else None
    return None if at is None else to_datetime(at)
