"""What people tell agents: CLAUDE.md and its rules and imports, AGENTS.md, wherever they stand in a project."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from openbrain.memory import Scope
from openbrain_cli.importing.cutting import Cutter
from openbrain_cli.importing.found import Found, Note, Scan, line, tags
from openbrain_cli.importing.frontmatter import Page, page
from openbrain_cli.importing.imports import Import, imports_of, without_imports
from openbrain_cli.importing.kinds import of_instruction
from openbrain_cli.importing.reading import Unreadable, read
from openbrain_cli.importing.sections import Section, sections

HOPS = 5
"""How deep imports of imports are followed."""

_OWN_NAMES = {"claude", "agents", "agents.override", "claude.local"}
_MAX_PATHS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class InstructionFolder:
    """Instruction files below one folder, and what is known from where it stands."""

    root: Path
    """A repository, or a person's folder of instructions; nothing outside is read."""
    client: str
    portable: str
    """Stands before the portable path of every file."""
    files: Sequence[Path]
    home: Path
    project: str = ""
    is_repository: bool = False
    covered: str = ""
    """Portable prefix below which `files` are all there are: what is missing there has vanished."""


@dataclass(slots=True)
class _Reading:
    folder: InstructionFolder
    found: list[Found] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    covered: list[tuple[str, str]] = field(default_factory=list)
    unread: set[tuple[str, str]] = field(default_factory=set)
    seen: set[Path] = field(default_factory=set)


def scan(folder: InstructionFolder) -> Scan:
    """Every file and what it imports; a file reached twice is read once."""
    reading = _Reading(folder)
    if folder.covered:
        reading.covered.append((folder.client, folder.covered))
    for path in sorted(folder.files, key=lambda path: (path.is_symlink(), path)):
        _read(reading, path, HOPS)
    return Scan(tuple(reading.found), tuple(reading.notes), tuple(reading.covered), frozenset(reading.unread))


def _read(reading: _Reading, path: Path, hops: int) -> None:
    real = path.resolve()
    if real in reading.seen:
        return
    reading.seen.add(real)
    place = _place(reading.folder, path)
    reading.covered.append((reading.folder.client, place))
    try:
        file = read(path, reading.folder.root)
    except Unreadable as error:
        reading.notes.append(Note(str(path), str(error)))
        reading.unread.add((reading.folder.client, place))
        return
    parsed = page(file.text)
    if parsed.problem:
        reading.notes.append(Note(str(path), f"{parsed.problem}; taken as plain text"))
    cutter = Cutter(reading.folder.client, place, file.changed)
    for section in sections(parsed.body):
        reading.found += _section(section, parsed, cutter, reading.folder, path)
    for named in imports_of(parsed.body, parsed.first_line):
        _follow(reading, path, named, hops)


def _follow(reading: _Reading, path: Path, named: Import, hops: int) -> None:
    target = named.path(path.parent, reading.folder.home)
    if not _there(target):
        if named.surely:
            reading.notes.append(Note(str(path), f"line {named.line}: what it imports is not there"))
        return
    if target.resolve() in reading.seen:
        return
    if hops == 0:
        reading.notes.append(Note(str(path), f"line {named.line}: imports are followed {HOPS} deep, not further"))
    elif not named.surely:
        reading.notes.append(Note(str(path), f"line {named.line}: what it imports is no page of text, left out"))
    elif target.resolve().is_relative_to(reading.folder.root.resolve()):
        _read(reading, target, hops - 1)
    else:
        reading.notes.append(Note(str(path), f"line {named.line}: imports from outside its folder, left out"))


def _section(section: Section, parsed: Page, cutter: Cutter, folder: InstructionFolder, path: Path) -> Iterator[Found]:
    if not without_imports(section.body).strip():
        return
    about = _about(parsed, folder, path)
    applies = f"Applies to: {', '.join(about)}" if about else ""
    stem = path.stem if path.stem.lower() not in _OWN_NAMES else ""
    yield from cutter.cut(
        section.heading,
        "\n\n".join(part for part in (section.heading, applies, section.body) if part),
        type=of_instruction(section.heading),
        scope=Scope.PROJECT if folder.project else Scope.SHARED,
        project=folder.project,
        tags=tags(re.sub(r"[-_]+", " ", stem), *(("override",) if ".override" in path.name else ())),
        occurred_at=cutter.changed,
        details={"paths": list(about)} if about else {},
    )


def _about(parsed: Page, folder: InstructionFolder, path: Path) -> Sequence[str]:
    """What part of the project it is for: the rule's `paths`, or the folder that it stands in."""
    named = tuple(line(each)[:255] for each in parsed.listed("paths"))[:_MAX_PATHS]
    inside = _inside(folder, path)
    if named or inside is None or not folder.is_repository or ".claude" in inside.parts:
        return named
    below = inside.parent.as_posix()
    return () if below == "." or path.stem.lower() not in _OWN_NAMES else (f"{line(below)}/",)


def _place(folder: InstructionFolder, path: Path) -> str:
    inside = _inside(folder, path)
    return line(path.as_posix()) if inside is None else f"{folder.portable}{line(inside.as_posix())}"


def _inside(folder: InstructionFolder, path: Path) -> Path | None:
    """The path below the root; a link by its own name where that lies below, too."""
    reached = next((each for each in (path, path.resolve()) if each.is_relative_to(folder.root)), None)
    return None if reached is None else reached.relative_to(folder.root)


def _there(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False
