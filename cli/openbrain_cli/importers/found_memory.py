"""A memory as found in a file, and its identity: client, portable path, heading."""

import hashlib
import json
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import IO, Any

from openbrain.domain import limits
from openbrain.domain.memory import MemoryType, Scope
from openbrain.domain.text.control_characters import cleaned, cleaned_json, cleaned_line

TAG = "memory-import"
"""Tag of every imported memory, by which the next import finds it."""

_SHORT = 160

Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class SpilledText:
    """A text kept in a file until it is sent."""

    file: IO[bytes]
    at: int
    size: int
    digest: str
    """The `content_digest` of the text."""

    def read(self) -> str:
        self.file.seek(self.at)
        return self.file.read(self.size).decode("utf-8")


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundMemory:
    """A section of a file. Its text is never empty and has no control characters."""

    client: str
    path: str
    """Relative to the client's home or the repository's address, so that it is the same on another machine."""
    heading: str
    content: str
    """The memory's text; '' if it is in `kept`."""
    type: MemoryType
    scope: Scope = Scope.PROJECT
    project: str = ""
    tags: tuple[str, ...] = ()
    confidence: float = 1.0
    occurred_at: datetime | None = None
    session_id: str = ""
    turn: int | None = None
    speaker: str = ""
    """`session_id`, `turn` and `speaker` are set for a message of a conversation."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Other facts from the file, as plain JSON: the session it came from, links, the paths it is about."""
    kept: SpilledText | None = None

    @property
    def key(self) -> Key:
        return self.client, self.path, self.heading

    @property
    def content_digest(self) -> str:
        """Digest of the text."""
        return self.kept.digest if self.kept else _digest(unicodedata.normalize("NFC", self.content))

    @property
    def digest(self) -> str:
        """Digest of the text and its filing (type, scope, tags ...); the same on every machine and day."""
        details = json.dumps(self.details, sort_keys=True)
        filed = "\0".join((self.type, self.scope, str(self.confidence), *sorted(self.tags), details))
        return f"{self.content_digest}.{_digest(filed)}"

    @property
    def source(self) -> str:
        """The memory's `source`: always unique, and shortened with a digest if it is too long."""
        text = line(f"import:{self.client}:{self.path}#{self.heading}")
        if len(text) <= limits.SOURCE_CHARS:
            return text
        return f"{text[:_SHORT]}…{_digest(text)}"

    @property
    def metadata(self) -> dict[str, Any]:
        origin = {"client": self.client, "path": self.path, "heading": self.heading, "digest": self.digest}
        kept: dict[str, Any] = cleaned_json({**self.details, "import": origin})
        return kept

    def offer(self) -> dict[str, object]:
        """The body of a request that stores the memory."""
        offered: dict[str, object] = {
            "content": self.kept.read() if self.kept else self.content,
            "type": self.type.value,
            "memory_scope": self.scope.value,
            "tags": list(self.tags),
            "source": self.source,
            "metadata": self.metadata,
            "confidence": self.confidence,
        }
        if self.occurred_at:
            offered["occurred_at"] = self.occurred_at.isoformat()
        optional = {
            "project": self.project,
            "session_id": self.session_id,
            "speaker": self.speaker,
            "turn": self.turn,
        }
        return offered | {name: value for name, value in optional.items() if value not in ("", None)}


@dataclass(frozen=True, slots=True)
class Note:
    """A file, or a place in it, that was skipped or read only in part, with the reason. Never quotes the file."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Scan:
    """Memories found in one place, and the portable paths that were read: a memory of an earlier import that is
    missing from these paths has vanished."""

    found: tuple[FoundMemory, ...] = ()
    notes: tuple[Note, ...] = ()
    covered: tuple[tuple[str, str], ...] = ()
    """(client, prefix of portable paths)"""
    unread: frozenset[tuple[str, str]] = frozenset()
    """(client, portable path) of files that could not be read; their memories do not count as vanished."""


def together(scans: "Iterable[Scan]", put_away: "Callable[[FoundMemory], FoundMemory]" = lambda memory: memory) -> Scan:
    """Merge scans, reading one after the other. `put_away` may move each memory's text out of RAM."""
    memories: list[FoundMemory] = []
    notes: list[Note] = []
    covered: dict[tuple[str, str], None] = {}
    unread: set[tuple[str, str]] = set()
    for scan in scans:
        memories += map(put_away, scan.found)
        notes += scan.notes
        covered |= dict.fromkeys(scan.covered)
        unread |= scan.unread
    return Scan(tuple(memories), tuple(notes), tuple(covered), frozenset(unread))


def line(text: str) -> str:
    """One line without control characters."""
    return cleaned_line(unicodedata.normalize("NFC", text))


def clean(text: str) -> str:
    """Text as a memory may contain it: with \\n line ends, without control characters."""
    return cleaned(text.replace("\r\n", "\n")).lstrip("\n").rstrip()


def short(text: str) -> str:
    """A heading shortened for use in an identity."""
    text = line(text)
    return text if len(text) <= _SHORT else f"{text[: _SHORT - 17]}…{_digest(text)}"


def tags(*words: str) -> tuple[str, ...]:
    """Tags from these words, followed by the tag of imports."""
    named = (line(word)[: limits.TAG_CHARS].strip() for word in words)
    return tuple(dict.fromkeys([*(word for word in named if word), TAG]))


def filled(**details: Any) -> dict[str, Any]:
    """The details that are not empty."""
    return {name: value for name, value in details.items() if value}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
