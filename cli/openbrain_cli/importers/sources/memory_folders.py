"""Determines the project and agent of a memory folder from its location."""

import dataclasses
from pathlib import Path

from openbrain_cli.importers.found_memory import line
from openbrain_cli.importers.projects import portable_folder, portable_place, project_at, project_of_folder
from openbrain_cli.importers.sources.claude_memory import INDEX, MemoryFolder

AGENT_FOLDERS = ("agent-memory", "agent-memory-local")


def is_memory_folder(path: Path) -> bool:
    return path.name == "memory" or path.parent.name in AGENT_FOLDERS or (path / INDEX).is_file()


def memory_folder(path: Path, home: Path, only: Path | None = None) -> MemoryFolder:
    """Describe a memory folder: a project's, a sub-agent's, or any other."""
    return dataclasses.replace(_described(path, home), only=only)


def _described(path: Path, home: Path) -> MemoryFolder:
    above = path.parent
    if path.name == "memory" and above.parent.name == "projects":
        location = f"projects/{line(portable_folder(above.name, home))}/memory/"
        return MemoryFolder(path=path, portable=location, project=project_of_folder(above, home))
    if above.name not in AGENT_FOLDERS:
        return MemoryFolder(path=path, portable=f"{portable_place(path, home)}/")
    root = above.parent.parent
    if above.parent.name != ".claude" or root == home or (above.parent / "projects").is_dir():
        return MemoryFolder(path=path, portable=f"{above.name}/{line(path.name)}/", agent=path.name)
    location = f"{portable_place(path, home)}/"
    return MemoryFolder(path=path, portable=location, project=project_at(root), agent=path.name)
