"""A person's own folders: ~/.claude and ~/.codex, and what an administrator put beside them."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from openbrain_cli.importing import claude_memory, instructions
from openbrain_cli.importing.claude_memory import MemoryFolder
from openbrain_cli.importing.found import Scan
from openbrain_cli.importing.instructions import InstructionFolder
from openbrain_cli.importing.memory_folders import AGENT_FOLDERS, memory_folder
from openbrain_cli.importing.reading import listing

MANAGED = ("/etc/claude-code", "/Library/Application Support/ClaudeCode")


def claude_home(claude: Path, home: Path, memory_override: Path | None) -> Iterator[Scan]:
    """~/.claude: memory folders of projects and of sub-agents, the person's own instructions and rules."""
    yield from memories_of(claude / "projects", home)
    for folder in folders(claude / AGENT_FOLDERS[0]):
        yield claude_memory.scan(memory_folder(folder, home))
    for elsewhere in dict.fromkeys((_named_in_settings(claude, home), memory_override)):
        if elsewhere is not None and elsewhere.is_dir():
            yield claude_memory.scan(MemoryFolder(path=elsewhere, portable="autoMemoryDirectory/"))
    rules = listing(claude / "rules").pages if (claude / "rules").is_dir() else ()
    yield from person(claude, home, "claude", "user/", [claude / "CLAUDE.md", *rules])


def memories_of(projects: Path, home: Path) -> Iterator[Scan]:
    """The memory folder of each project."""
    for folder in folders(projects):
        if (folder / "memory").is_dir():
            yield claude_memory.scan(memory_folder(folder / "memory", home))


def codex_home(home: Path) -> Iterator[Scan]:
    """~/.codex: a person's AGENTS.md."""
    folder = home / ".codex"
    yield from person(folder, home, "agents", ".codex/", [folder / "AGENTS.md", folder / "AGENTS.override.md"])


def person(
    root: Path, home: Path, client: str, portable: str, files: Sequence[Path], *, whole: bool = True
) -> Iterator[Scan]:
    """Instructions that hold in every project."""
    if root.is_dir():
        yield instructions.scan(
            InstructionFolder(
                root=root,
                client=client,
                portable=portable,
                files=[path for path in files if path.is_file()],
                home=home,
                covered=portable if whole else "",
            )
        )


def folders(path: Path) -> list[Path]:
    """The folders in a folder; none where it is not there."""
    return sorted(each for each in path.iterdir() if each.is_dir()) if path.is_dir() else []


def _named_in_settings(claude: Path, home: Path) -> Path | None:
    """The memory folder that settings.json names in place of the usual ones."""
    try:
        named = json.loads((claude / "settings.json").read_text(encoding="utf-8")).get("autoMemoryDirectory")
    except (OSError, ValueError, AttributeError, RecursionError):
        return None
    return home / named.strip().removeprefix("~/") if isinstance(named, str) and named.strip() else None
