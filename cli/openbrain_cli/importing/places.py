"""Where agents leave files: from the paths that a person names, or from where they usually are, to scans."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from openbrain.errors import Invalid
from openbrain_cli.importing import claude_memory
from openbrain_cli.importing.claude_home import MANAGED, claude_home, codex_home, memories_of, person
from openbrain_cli.importing.found import Note, Scan, together
from openbrain_cli.importing.memory_folders import is_memory_folder, memory_folder
from openbrain_cli.importing.projects import repository_of
from openbrain_cli.importing.trees import named_file, tree


class Client(StrEnum):
    """Whose files to import."""

    AUTO = "auto"
    CLAUDE = "claude"
    AGENTS = "agents"


@dataclass(frozen=True, slots=True, kw_only=True)
class Homes:
    """Where this person's files are. Injected, so that nothing here asks the environment."""

    home: Path
    claude: Path
    here: Path
    memory_override: Path | None = None


def look(paths: Sequence[Path], homes: Homes, client: Client = Client.AUTO) -> Scan:
    """Everything of that client in the paths; without paths, in the usual places and around `homes.here`."""
    scans = [_careful(path, _named, homes) for path in paths] or [_careful(homes.home, _usual, homes)]
    whole = together(scans)
    if client is Client.AUTO:
        return whole
    return Scan(
        tuple(found for found in whole.found if found.client == client),
        whole.notes,
        tuple(each for each in whole.covered if each[0] == client),
        whole.unread,
    )


def _careful(path: Path, scans: Callable[[Path, Homes], Iterable[Scan]], homes: Homes) -> Scan:
    """A place that the system keeps from us is reported like a file that can't be read."""
    done: list[Scan] = []
    try:
        done.extend(scans(path, homes))
    except OSError as error:
        reason = f"can't be read: {error.strerror or 'the system refused'}"
        done.append(Scan(notes=(Note(str(error.filename or path), reason),)))
    return together(done)


def _usual(home: Path, homes: Homes) -> Iterator[Scan]:
    yield from claude_home(homes.claude, home, homes.memory_override)
    yield from codex_home(home)
    for folder in map(Path, MANAGED):
        yield from person(folder, home, "claude", "managed/", [folder / "CLAUDE.md"])
    repository = repository_of(homes.here)
    if repository is not None and repository.root != home.resolve():
        yield from tree(repository.root, home)
    elif repository is None:
        yield from tree(homes.here, home, deep=False)


def _named(path: Path, homes: Homes) -> Iterator[Scan]:
    path = Path(os.path.abspath(path.expanduser()))  # noqa: PTH100 - a link keeps its own name
    if not path.exists():
        raise Invalid("PATHS", f"{path} is not there")
    if path.is_file():
        yield from _file(path, homes)
    elif (path / ".claude" / "projects").is_dir():
        yield from claude_home(path / ".claude", path, None)
        yield from codex_home(path)
    elif path == homes.home / ".codex":
        yield from codex_home(homes.home)
    elif (path / "projects").is_dir() and (path.name == ".claude" or any(path.glob("projects/*/memory"))):
        yield from claude_home(path, homes.home, homes.memory_override)
    elif path.name == "projects" and any(path.glob("*/memory")):
        yield from memories_of(path, homes.home)
    elif path.parent.name == "projects" and (path / "memory").is_dir():
        yield claude_memory.scan(memory_folder(path / "memory", homes.home))
    elif is_memory_folder(path):
        yield claude_memory.scan(memory_folder(path, homes.home))
    else:
        yield from tree(path, homes.home)


def _file(path: Path, homes: Homes) -> Iterator[Scan]:
    folder = next((each for each in path.parents if is_memory_folder(each)), None)
    if folder is not None and path.suffix.lower() == ".md":
        yield claude_memory.scan(memory_folder(folder, homes.home, only=path))
    elif path.is_relative_to(homes.claude):
        yield from person(homes.claude, homes.home, "claude", "user/", [path], whole=False)
    elif path.is_relative_to(homes.home / ".codex"):
        yield from person(homes.home / ".codex", homes.home, "agents", ".codex/", [path], whole=False)
    else:
        yield named_file(path, homes.home)


def look_for_memories(path: Path, homes: Homes) -> Scan:
    """Memory folders only; a folder that is no known place is taken for one."""

    def folders(path: Path, homes: Homes) -> Iterator[Scan]:
        projects = path / "projects" if (path / "projects").is_dir() else path
        if any(projects.glob("*/memory")):
            yield from memories_of(projects, homes.home)
        elif path.is_dir():
            yield claude_memory.scan(memory_folder(path, homes.home))

    path = path.expanduser()
    if not path.exists():
        raise Invalid("--path", f"{path} is not there")
    return _careful(path, folders, homes)
