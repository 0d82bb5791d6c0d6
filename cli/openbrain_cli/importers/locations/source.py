"""Sources of memories: a place, its client, and its reader. Nothing is read until it is asked for."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from openbrain_cli.importers.found_memory import Note, Scan


class Client(StrEnum):
    """The client whose files are imported. Each except `AUTO` is also the `client` of the memories."""

    AUTO = "auto"
    CLAUDE = "claude"
    AGENTS = "agents"
    CODEX = "codex"
    CURSOR = "cursor"
    GEMINI = "gemini"
    WINDSURF = "windsurf"
    COPILOT = "copilot"
    OPENCLAW = "openclaw"
    HERMES = "hermes"
    MARKDOWN = "markdown"
    OBSIDIAN = "obsidian"
    BASIC_MEMORY = "basic-memory"
    CHATGPT = "chatgpt"
    MEM0 = "mem0"
    HINDSIGHT = "hindsight"
    CSV = "csv"
    NDJSON = "ndjson"
    BRAIN_MEMORIES = "brain-memories"
    THOUGHTS = "thoughts"
    GRAPHITI = "graphiti"
    LETTA = "letta"
    CLAUDE_MEM = "claude-mem"
    OPENCLAW_SESSIONS = "openclaw-sessions"
    LOSSLESS_CLAW = "lossless-claw"


@dataclass(frozen=True, slots=True, kw_only=True)
class Homes:
    """The user's folders. Passed in, so that nothing here reads the environment."""

    home: Path
    claude: Path
    here: Path
    memory_override: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The options of an import command."""

    homes: Homes
    client: Client = Client.AUTO
    columns: Mapping[str, str] = field(default_factory=dict)
    """The user's names for the fields of a record."""


@dataclass(frozen=True, slots=True)
class Source:
    """A place; `scans` reads it file by file."""

    path: Path
    scans: Callable[[], Iterable[Scan]]

    def carefully(self) -> Iterator[Scan]:
        """Scan the source; report what the system does not let us read as a note."""
        try:
            yield from self.scans()
        except OSError as error:
            reason = f"can't be read: {error.strerror or 'the system refused'}"
            yield Scan(notes=(Note(str(error.filename or self.path), reason),))
