"""Codex's memory folder: the handbook and its summary. The material that Codex makes them from is not read."""

import re
from collections.abc import Iterator
from pathlib import Path

from openbrain.domain.memory import MemoryType
from openbrain_cli.importers.found_memory import Scan
from openbrain_cli.importers.markdown.sections import Section, full_sections
from openbrain_cli.importers.sources.agent_files import AgentFolder, FileRule, scan

SUMMARY = "memory_summary.md"
FILES = ("MEMORY.md", SUMMARY)
_VERSION = re.compile(r"\s*v\d+[ \t]*(?:\r?\n|$)")


def _after_version(text: str) -> Iterator[Section]:
    """Skip the format version at the beginning of the summary."""
    yield from full_sections(_VERSION.sub("", text, count=1) if _VERSION.match(text) else text)


_RULES = (
    FileRule(name="MEMORY", type=MemoryType.OBSERVATION),
    FileRule(name="memory_summary", type=MemoryType.CONTEXT, tags=("summary",), cut=_after_version),
)


def fits(folder: Path) -> bool:
    return (folder / SUMMARY).is_file()


def memories(folder: Path, only: Path | None = None) -> Iterator[Scan]:
    yield from scan(
        AgentFolder(path=folder, client="codex", portable=".codex/memories/", rules=_RULES, only=only),
    )
