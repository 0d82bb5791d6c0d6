"""The instructions and sub-agents' memories of a project, or of a folder of projects."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from openbrain_cli.importers.file_reading import NOT_OURS, listing
from openbrain_cli.importers.found_memory import Note, Scan
from openbrain_cli.importers.projects import portable_place, project_at, repository_of
from openbrain_cli.importers.sources import claude_memory, instructions
from openbrain_cli.importers.sources.claude_home import folders
from openbrain_cli.importers.sources.instructions import DIALECTS, InstructionFolder
from openbrain_cli.importers.sources.memory_folders import AGENT_FOLDERS, memory_folder

_RULES = (
    ("claude", ".claude/rules", (".md",)),
    ("cursor", ".cursor/rules", (".mdc", ".md")),
    ("windsurf", ".windsurf/rules", (".md",)),
    ("copilot", ".github/instructions", (".instructions.md",)),
)
_BESIDE = (("claude", ".claude/CLAUDE.md"), ("copilot", ".github/copilot-instructions.md"))
_BY_NAME = {name: client for client, dialect in DIALECTS.items() for name in dialect.names if name != "global_rules.md"}
MARKS = frozenset(_BY_NAME)
"""File names, in lower case, that mark a project with instructions."""
RULE_FOLDERS = (*(place for _, place, _ in _RULES), *(place for _, place in _BESIDE))
"""Paths in a project that do so too."""


@dataclass(slots=True)
class _Files:
    by_client: dict[str, list[Path]] = field(default_factory=lambda: {client: [] for client in DIALECTS})
    skipped: list[Note] = field(default_factory=list)
    repositories: list[Path] = field(default_factory=list)
    """Nested checkouts, which are separate projects."""


def tree(root: Path, home: Path, *, deep: bool = True) -> Iterator[Scan]:
    """Read a project and the checkouts nested in it; without `deep` only files directly in the folder."""
    files = _files(root, deep=deep)
    yield Scan(notes=tuple(files.skipped))
    for client, paths in files.by_client.items():
        yield from instructions.scan(_folder(root, home, client, paths, whole=deep))
    for kind in AGENT_FOLDERS:
        for folder in folders(root / ".claude" / kind):
            yield from claude_memory.scan(memory_folder(folder, home))
    for checkout in files.repositories:
        yield from tree(checkout, home)


def has_instructions(root: Path) -> bool:
    """True if the folder contains instructions at any depth."""
    files = _files(root, deep=True)
    return any(files.by_client.values()) or bool(files.repositories)


def client_of(path: Path) -> str:
    """The client of an instruction file, by its name or place; '' if it is none."""
    whole = path.as_posix()
    placed = [client for client, location in _BESIDE if whole.endswith(f"/{location}")]
    placed += [client for client, location, _ in _RULES if f"/{location}/" in whole]
    return placed[0] if placed else _BY_NAME.get(path.name.lower(), "")


def named_file(path: Path, home: Path, client: str) -> Iterator[Scan]:
    """Read one instruction file that the user named."""
    whole = path.as_posix()
    above = next(
        (whole.partition(f"/{rule_folder}")[0] for rule_folder in RULE_FOLDERS if f"/{rule_folder}" in whole),
        path.parent,
    )
    yield from instructions.scan(_folder(Path(above), home, client, [path], whole=False))


def _folder(folder: Path, home: Path, client: str, files: list[Path], *, whole: bool) -> InstructionFolder:
    """Describe the folder relative to the repository's root, so that a file always has the same portable path."""
    repository = repository_of(folder)
    root = repository.root if repository else folder
    return InstructionFolder(
        root=root,
        client=client,
        portable=f"{portable_place(root, home)}/",
        files=files,
        home=home,
        project=project_at(root),
        is_repository=repository is not None,
        covered=f"{portable_place(folder, home)}/" if whole else "",
    )


def _files(root: Path, *, deep: bool) -> _Files:
    files = _Files()
    for where, below, names in os.walk(root):
        here = Path(where)
        for name in names:
            if client := _BY_NAME.get(name.lower()):
                files.by_client[client].append(here / name)
        _rules(here, below, files)
        kept = sorted(name for name in below if not name.startswith(".") and name not in NOT_OURS) if deep else []
        checkouts = [name for name in kept if (here / name / ".git").exists()]
        files.repositories += [here / name for name in checkouts]
        below[:] = [name for name in kept if name not in checkouts]
    return files


def _rules(here: Path, below: list[str], files: _Files) -> None:
    for client, location in _BESIDE:
        if location.split("/")[0] in below and (here / location).is_file():
            files.by_client[client].append(here / location)
    for client, location, endings in _RULES:
        if location.split("/")[0] in below and (here / location).is_dir():
            listed = listing(here / location, endings)
            files.by_client[client] += listed.pages
            files.skipped += [Note(str(path), reason) for path, reason in listed.skipped]
