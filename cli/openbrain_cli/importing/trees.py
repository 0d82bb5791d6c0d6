"""The instruction files and sub-agents' memories of a project, or of a folder of projects."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from openbrain_cli.importing import claude_memory, instructions
from openbrain_cli.importing.claude_home import folders
from openbrain_cli.importing.found import Scan
from openbrain_cli.importing.instructions import InstructionFolder
from openbrain_cli.importing.memory_folders import AGENT_FOLDERS, memory_folder
from openbrain_cli.importing.projects import portable_place, project_at, repository_of
from openbrain_cli.importing.reading import listing

_NOT_OURS = {"node_modules", "vendor", "venv", "dist", "build", "target", "site-packages", "__pycache__"}
_CLAUDE = {"claude.md", "claude.local.md"}
_AGENTS = {"agents.md", "agents.override.md"}


@dataclass(slots=True)
class _Files:
    claude: list[Path] = field(default_factory=list)
    agents: list[Path] = field(default_factory=list)
    repositories: list[Path] = field(default_factory=list)
    """Checkouts further down: projects of their own."""


def tree(root: Path, home: Path, *, deep: bool = True) -> Iterator[Scan]:
    """One project, and the checkouts that lie in it; without `deep` only what stands in the folder itself."""
    files = _files(root, deep=deep)
    yield instructions.scan(_folder(root, home, "claude", files.claude, whole=deep))
    yield instructions.scan(_folder(root, home, "agents", files.agents, whole=deep))
    for kind in AGENT_FOLDERS:
        for folder in folders(root / ".claude" / kind):
            yield claude_memory.scan(memory_folder(folder, home))
    for checkout in files.repositories:
        yield from tree(checkout, home)


def named_file(path: Path, home: Path) -> Scan:
    """One file that a person named."""
    client = "agents" if path.name.lower() in _AGENTS else "claude"
    return instructions.scan(_folder(path.parent, home, client, [path], whole=False))


def _folder(folder: Path, home: Path, client: str, files: list[Path], *, whole: bool) -> InstructionFolder:
    """Seen from the repository's root, so that a file is the same one from wherever it is reached."""
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
    own = root / ".claude"
    found = _Files(claude=[path for path in (own / "CLAUDE.md",) if path.is_file()])
    found.claude += listing(own / "rules").pages if (own / "rules").is_dir() else ()
    for where, below, names in os.walk(root):
        here = Path(where)
        found.claude += [here / name for name in names if name.lower() in _CLAUDE]
        found.agents += [here / name for name in names if name.lower() in _AGENTS]
        kept = sorted(name for name in below if not name.startswith(".") and name not in _NOT_OURS) if deep else []
        checkouts = [name for name in kept if (here / name / ".git").exists()]
        found.repositories += [here / name for name in checkouts]
        below[:] = [name for name in kept if name not in checkouts]
    return found
