"""One memory as found in a file, and who it is: client, portable path, heading."""

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
"""On every imported memory, so that the next import finds it."""

_SHORT = 160

Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class SpilledText:
    """A text that was put away in a file until it is sent."""

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
    """Relative to the client's home or the repository's address: the same on another machine."""
    heading: str
    content: str
    """The memory's text; '' where `kept` has it."""
    type: MemoryType
    scope: Scope = Scope.PROJECT
    project: str = ""
    tags: tuple[str, ...] = ()
    confidence: float = 1.0
    occurred_at: datetime | None = None
    session_id: str = ""
    turn: int | None = None
    speaker: str = ""
    """Of a conversation: which, the place in it, who spoke."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Other facts of the file: the session it came from, links, the paths it is about. Plain JSON."""
    kept: SpilledText | None = None

    @property
    def key(self) -> Key:
        return self.client, self.path, self.heading

    @property
    def content_digest(self) -> str:
        """Of what it says."""
        return self.kept.digest if self.kept else _digest(unicodedata.normalize("NFC", self.content))

    @property
    def digest(self) -> str:
        """Of what it says and how it is filed; nothing in it depends on the machine or on the day."""
        details = json.dumps(self.details, sort_keys=True)
        filed = "\0".join((self.type, self.scope, str(self.confidence), *sorted(self.tags), details))
        return f"{self.content_digest}.{_digest(filed)}"

    @property
    def source(self) -> str:
        """The memory's `source`: readable where it fits, unique always."""
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
        """The body of a request to the API."""
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
    """A file, or a place in it, that was not taken as it stands, and why. Never says what is in the file."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Scan:
    """The content of a place, and the portable paths that were read: a memory of an earlier import that is missing
    there has vanished."""

    found: tuple[FoundMemory, ...] = ()
    notes: tuple[Note, ...] = ()
    covered: tuple[tuple[str, str], ...] = ()
    """(client, prefix of portable paths)"""
    unread: frozenset[tuple[str, str]] = frozenset()
    """(client, portable path) of what could not be read: nothing of it has vanished."""


def together(scans: "Iterable[Scan]", put_away: "Callable[[FoundMemory], FoundMemory]" = lambda memory: memory) -> Scan:
    """All as one, read one after the other; `put_away` may take the text of each out of memory."""
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
    """Text as a memory may hold it: lines end alike, and what a terminal would obey is left out."""
    return cleaned(text.replace("\r\n", "\n")).lstrip("\n").rstrip()


def short(text: str) -> str:
    """A heading as part of an identity."""
    text = line(text)
    return text if len(text) <= _SHORT else f"{text[: _SHORT - 17]}…{_digest(text)}"


def tags(*words: str) -> tuple[str, ...]:
    """Tags of these words, the mark of an import last."""
    named = (line(word)[: limits.TAG_CHARS].strip() for word in words)
    return tuple(dict.fromkeys([*(word for word in named if word), TAG]))


def filled(**details: Any) -> dict[str, Any]:
    """Those that say something."""
    return {name: value for name, value in details.items() if value}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
