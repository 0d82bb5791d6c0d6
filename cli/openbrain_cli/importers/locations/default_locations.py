"""The usual places of agents' files, and other notes, in the user's home folder."""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from openbrain_cli.importers.file_reading import NOT_OURS
from openbrain_cli.importers.found_memory import Note, Scan
from openbrain_cli.importers.locations.source import Homes, Source
from openbrain_cli.importers.projects import repository_of
from openbrain_cli.importers.sources import codex, hermes, note_kinds, openclaw
from openbrain_cli.importers.sources.claude_home import MANAGED, OWN, claude_home, own_instructions, person
from openbrain_cli.importers.sources.project_tree import MARKS, RULE_FOLDERS, tree

_DEPTH = 4
_FOLDERS = 20_000


def own_places(homes: Homes) -> Iterator[Source]:
    """Yield the clients' folders that exist in a home."""
    home = homes.home
    if homes.claude.is_dir() or homes.memory_override:
        yield Source(homes.claude, partial(claude_home, homes.claude, home, homes.memory_override))
    for own in OWN:
        if (home / own.folder).is_dir():
            yield Source(home / own.folder, partial(own_instructions, own, home))
    if codex.fits(home / ".codex" / "memories"):
        yield Source(home / ".codex" / "memories", partial(codex.memories, home / ".codex" / "memories"))
    for path in openclaw.workspaces(home):
        yield Source(path, partial(openclaw.workspace, path))
    for path in hermes.folders(home):
        yield Source(path, partial(hermes.memories, path))
    for path in note_kinds.vaults(home):
        if path.is_dir():
            yield Source(path, partial(note_kinds.obsidian, path, home))
    for path in note_kinds.basic_memory_projects(home):
        if path.is_dir():
            yield Source(path, partial(note_kinds.basic_memory, path, home))


def everywhere(homes: Homes) -> Iterator[Source]:
    """Yield `own_places`, an administrator's files, the project around `homes.here`, and those in the home folder."""
    known: set[Path] = set()
    for source in (*own_places(homes), *_managed(homes), *_around(homes)):
        known.add(source.path.resolve())
        yield source
    yield from _walked(homes, known)


def _managed(homes: Homes) -> Iterator[Source]:
    for folder in map(Path, MANAGED):
        if folder.is_dir():
            yield Source(folder, partial(person, folder, homes.home, "claude", "managed/", [folder / "CLAUDE.md"]))


def _around(homes: Homes) -> Iterator[Source]:
    repository = repository_of(homes.here)
    if repository is not None and repository.root != homes.home.resolve():
        yield Source(repository.root, partial(tree, repository.root, homes.home))
    elif repository is None and homes.here.resolve() != homes.home.resolve():
        yield Source(homes.here, partial(tree, homes.here, homes.home, deep=False))


def _walked(homes: Homes, known: set[Path]) -> Iterator[Source]:
    """Search a few levels deep, without hidden folders; do not search inside a project or vault that was found."""
    looked_at = 0
    for where, folders, names in os.walk(homes.home):
        here = Path(where)
        looked_at += 1
        depth = len(here.relative_to(homes.home).parts)
        if looked_at > _FOLDERS:
            note = Note(where, f"only {_FOLDERS} folders of the home folder were searched: name what is in the others")
            yield Source(here, lambda note=note: (Scan(notes=(note,)),))  # type: ignore[misc]
            return
        source = None if not depth else _source(here, folders, names, homes.home)
        if here.resolve() in known or source is not None:
            folders.clear()
            if source is not None and here.resolve() not in known:
                yield source
            continue
        kept = sorted(name for name in folders if not name.startswith(".") and name not in NOT_OURS)
        folders[:] = kept if depth < _DEPTH else []


def _source(here: Path, folders: list[str], names: list[str], home: Path) -> Source | None:
    if ".obsidian" in folders:
        return Source(here, partial(note_kinds.obsidian, here, home))
    marked = not MARKS.isdisjoint(map(str.lower, names))
    if marked or any((here / rules).exists() for rules in RULE_FOLDERS if rules.split("/")[0] in folders):
        return Source(here, partial(tree, here, home))
    return None
