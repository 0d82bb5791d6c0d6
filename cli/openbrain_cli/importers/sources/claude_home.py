"""The user's own instruction folders: ~/.claude, those of other clients, and those set by an administrator."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from openbrain_cli.importers.file_reading import listing
from openbrain_cli.importers.found_memory import Scan
from openbrain_cli.importers.sources import claude_memory, instructions
from openbrain_cli.importers.sources.claude_memory import MemoryFolder
from openbrain_cli.importers.sources.instructions import InstructionFolder
from openbrain_cli.importers.sources.memory_folders import AGENT_FOLDERS, memory_folder

MANAGED = ("/etc/claude-code", "/Library/Application Support/ClaudeCode")


def claude_home(claude: Path, home: Path, memory_override: Path | None) -> Iterator[Scan]:
    """Read ~/.claude: memory folders of projects and sub-agents, the user's own instructions and rules."""
    yield from memories_of(claude / "projects", home)
    for folder in folders(claude / AGENT_FOLDERS[0]):
        yield from claude_memory.scan(memory_folder(folder, home))
    for elsewhere in dict.fromkeys((_named_in_settings(claude, home), memory_override)):
        if elsewhere is not None and elsewhere.is_dir():
            yield from claude_memory.scan(MemoryFolder(path=elsewhere, portable="autoMemoryDirectory/"))
    rules = listing(claude / "rules").pages if (claude / "rules").is_dir() else ()
    yield from person(claude, home, "claude", "user/", [claude / "CLAUDE.md", *rules])


def memories_of(projects: Path, home: Path) -> Iterator[Scan]:
    """Read the memory folder of each project."""
    for folder in folders(projects):
        if (folder / "memory").is_dir():
            yield from claude_memory.scan(memory_folder(folder / "memory", home))


@dataclass(frozen=True, slots=True)
class Own:
    """Where a client keeps the user's own instructions, below the home folder."""

    client: str
    folder: str
    files: tuple[str, ...]
    rules: str = ""
    ending: str = ".md"


OWN = (
    Own("agents", ".codex", ("AGENTS.md", "AGENTS.override.md")),
    Own("gemini", ".gemini", ("GEMINI.md",)),
    Own("windsurf", ".codeium/windsurf/memories", ("global_rules.md",)),
    Own("copilot", ".copilot", ("copilot-instructions.md",), "instructions", ".instructions.md"),
)


def own_instructions(own: Own, home: Path) -> Iterator[Scan]:
    folder = home / own.folder
    rules = folder / own.rules
    more = listing(rules, (own.ending,)).pages if own.rules and rules.is_dir() else ()
    yield from person(folder, home, own.client, f"{own.folder}/", [*(folder / name for name in own.files), *more])


def person(
    root: Path, home: Path, client: str, portable: str, files: Sequence[Path], *, whole: bool = True
) -> Iterator[Scan]:
    """Read instructions that apply to every project."""
    if root.is_dir():
        yield from instructions.scan(
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
    """The subfolders of a folder; none if it does not exist."""
    return sorted(item for item in path.iterdir() if item.is_dir()) if path.is_dir() else []


def _named_in_settings(claude: Path, home: Path) -> Path | None:
    """The memory folder that settings.json sets in place of the usual ones."""
    try:
        named = json.loads((claude / "settings.json").read_text(encoding="utf-8")).get("autoMemoryDirectory")
    except (OSError, ValueError, AttributeError, RecursionError):
        return None
    return home / named.strip().removeprefix("~/") if isinstance(named, str) and named.strip() else None
