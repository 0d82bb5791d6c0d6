"""Scanning of the paths that a user names, or of the default locations, for memories."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from openbrain.domain.errors import Invalid
from openbrain_cli.importers.found_memory import FoundMemory, Scan, together
from openbrain_cli.importers.locations.default_locations import everywhere, own_places
from openbrain_cli.importers.locations.detection import scans_of
from openbrain_cli.importers.locations.source import Client, Homes, Source, Wanted
from openbrain_cli.importers.sources import claude_memory
from openbrain_cli.importers.sources.claude_home import memories_of
from openbrain_cli.importers.sources.memory_folders import memory_folder

__all__ = ["Client", "Homes", "Seen", "Source", "Wanted", "absolute", "gather", "look", "look_for_memories", "sources"]


@dataclass(frozen=True, slots=True)
class Seen:
    """The result of scanning a place."""

    path: Path
    client: str
    files: int
    sections: int


def absolute(path: Path) -> Path:
    """Make a path absolute, without resolving links."""
    return Path(os.path.abspath(path.expanduser()))  # noqa: PTH100 - a link keeps its own name


def sources(paths: Sequence[Path], wanted: Wanted) -> Iterator[Source]:
    """The sources that the paths stand for; without paths, everything found in the home folder."""
    if not paths:
        yield from everywhere(wanted.homes)
    for item in paths:
        path = absolute(item)
        if not path.exists():
            raise Invalid("PATHS", f"{path} is not there")
        yield from _named(path, wanted)


def _named(path: Path, wanted: Wanted) -> Iterable[Source]:
    if path != wanted.homes.home and (path / ".claude" / "projects").is_dir():
        return own_places(Homes(home=path, claude=path / ".claude", here=path))
    within = [own_place for own_place in own_places(wanted.homes) if own_place.path.is_relative_to(path)]
    if within and (path == wanted.homes.home or path.name.startswith(".")):
        return within
    return [Source(path, partial(scans_of, path, wanted))]


def gather(
    places: Iterable[Source],
    client: Client = Client.AUTO,
    put_away: Callable[[FoundMemory], FoundMemory] = lambda memory: memory,
    seen: Callable[[Seen], None] = lambda _: None,
) -> Scan:
    """Read the places' memories of that client, one file after the other; `seen` is called once per place."""

    def each() -> Iterator[Scan]:
        for source in places:
            files: dict[str, dict[str, int]] = {}
            for scan in source.carefully():
                kept = _only(scan, client)
                _count(kept, files)
                yield kept
            for name, sections in files.items():
                seen(Seen(source.path, name, len(sections), sum(sections.values())))

    return together(each(), put_away)


def look(
    paths: Sequence[Path], homes: Homes, client: Client = Client.AUTO, columns: Mapping[str, str] | None = None
) -> Scan:
    """Everything of that client in the paths; without paths, in the home folder."""
    return gather(sources(paths, Wanted(homes=homes, client=client, columns=columns or {})), client)


def look_for_memories(path: Path, homes: Homes) -> Iterator[Source]:
    """Memory folders only; any other folder is read as if it were one."""
    path = path.expanduser()
    if not path.exists():
        raise Invalid("--path", f"{path} is not there")
    projects = path / "projects" if (path / "projects").is_dir() else path
    if any(projects.glob("*/memory")):
        yield Source(projects, partial(memories_of, projects, homes.home))
    elif path.is_dir():
        yield Source(path, lambda: claude_memory.scan(memory_folder(path, homes.home)))


def _only(scan: Scan, client: Client) -> Scan:
    if client is Client.AUTO:
        return scan
    return replace(
        scan,
        found=tuple(memory for memory in scan.found if memory.client == client),
        covered=tuple(item for item in scan.covered if item[0] == client),
    )


def _count(scan: Scan, files: dict[str, dict[str, int]]) -> None:
    for memory in scan.found:
        sections = files.setdefault(memory.client, {})
        sections[memory.path] = sections.get(memory.path, 0) + 1
