"""Hermes's two files, MEMORY.md and USER.md: entries separated by lines with §."""

import re
from collections.abc import Iterator
from pathlib import Path

from openbrain.domain.memory import MemoryType
from openbrain_cli.importers.found_memory import Scan, line
from openbrain_cli.importers.markdown.sections import Section, first_words
from openbrain_cli.importers.sources.agent_files import AgentFolder, FileRule, scan

_BETWEEN = re.compile(r"^[ \t]*§[ \t]*$", re.MULTILINE)
FILES = ("MEMORY.md", "USER.md")


def entries(text: str) -> Iterator[Section]:
    """Name each entry by its first words, because entries have no names and change their order."""
    for entry in _BETWEEN.split(text.replace("\r\n", "\n").replace("\r", "\n")):
        if entry.strip():
            yield Section(first_words(entry), entry.strip("\n").rstrip(), named=False)


_RULES = (
    FileRule(name="MEMORY", type=MemoryType.OBSERVATION, cut=entries),
    FileRule(name="USER", type=MemoryType.FACT, fixed=True, tags=("user",), cut=entries),
)


def fits(folder: Path) -> bool:
    above = folder.parent
    if folder.name == "memories" and (above.name == ".hermes" or (above / "config.yaml").is_file()):
        return any((folder / name).is_file() for name in FILES)
    return all((folder / name).is_file() for name in FILES) and _has_entries(folder)


def folders(home: Path) -> Iterator[Path]:
    """The memory folders of the default profile and of named profiles."""
    root = home / ".hermes"
    for path in (root / "memories", *sorted(root.glob("profiles/*/memories"))):
        if path.is_dir():
            yield path


def memories(folder: Path, only: Path | None = None) -> Iterator[Scan]:
    profile = folder.parent.name if folder.parent.parent.name == "profiles" else ""
    location = f"hermes/{f'profiles/{line(profile)}/' if profile else ''}"
    yield from scan(
        AgentFolder(path=folder, client="hermes", portable=location, rules=_RULES, agent=profile, only=only),
    )


def _has_entries(folder: Path) -> bool:
    for name in FILES:
        try:
            with (folder / name).open(encoding="utf-8", errors="replace") as file:
                if any(part.strip() == "§" for part in file.read(64 * 1024).split("\n")):
                    return True
        except OSError:
            continue
    return False
