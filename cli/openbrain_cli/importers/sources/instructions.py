"""Instructions for agents anywhere in a project: CLAUDE.md, AGENTS.md, GEMINI.md, rules of editors."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from openbrain.domain.memory import Scope
from openbrain_cli.importers.found_memory import FoundMemory, Note, Scan, filled, line, tags
from openbrain_cli.importers.markdown.chunks import Chunker
from openbrain_cli.importers.markdown.file_references import Import, imports_of, without_imports
from openbrain_cli.importers.markdown.frontmatter import Page
from openbrain_cli.importers.markdown.pages import scan_page
from openbrain_cli.importers.markdown.sections import Section, full_sections
from openbrain_cli.importers.memory_types import of_instruction

HOPS = 5
"""Maximum depth of nested imports."""

_MAX_PATHS = 50


@dataclass(frozen=True, slots=True)
class Dialect:
    """The form of one client's instructions."""

    names: frozenset[str]
    """Names, in lower case, of files that apply to their folder."""
    about: str = "paths"
    """Front matter key for the files that a rule applies to."""
    imports: bool = False
    loose: bool = False
    """True if its front matter is not strict YAML."""


DIALECTS = {
    "claude": Dialect(frozenset({"claude.md", "claude.local.md"}), imports=True),
    "agents": Dialect(frozenset({"agents.md", "agents.override.md"}), imports=True),
    "gemini": Dialect(frozenset({"gemini.md"}), imports=True),
    "cursor": Dialect(frozenset({".cursorrules"}), about="globs", loose=True),
    "windsurf": Dialect(frozenset({".windsurfrules", "global_rules.md"}), about="globs", loose=True),
    "copilot": Dialect(frozenset({"copilot-instructions.md"}), about="applyTo", loose=True),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class InstructionFolder:
    """Instruction files below a folder, and what its location says about them."""

    root: Path
    """A repository, or the user's folder of instructions; nothing outside it is read."""
    client: str
    portable: str
    """Prefix of the portable path of every file."""
    files: Sequence[Path]
    home: Path
    project: str = ""
    is_repository: bool = False
    covered: str = ""
    """Portable prefix below which `files` is complete: a memory of any other file there has vanished."""


@dataclass(slots=True)
class _Reading:
    folder: InstructionFolder
    seen: set[Path] = field(default_factory=set)


def scan(folder: InstructionFolder) -> Iterator[Scan]:
    """Read every file and its imports, each file once."""
    reading = _Reading(folder)
    for path in sorted(folder.files, key=lambda path: (path.is_symlink(), path)):
        yield from _read(reading, path, HOPS)
    yield Scan(covered=((folder.client, folder.covered),) if folder.covered else ())


def _read(reading: _Reading, path: Path, hops: int) -> Iterator[Scan]:
    folder = reading.folder
    real = path.resolve()
    if real in reading.seen:
        return
    reading.seen.add(real)
    location = _place(folder, path)
    imports: list[Import] = []

    def memories(parsed: Page, chunker: Chunker) -> Iterator[FoundMemory]:
        if DIALECTS[folder.client].imports:
            imports.extend(imports_of(parsed.body, parsed.first_line))
        for section in full_sections(parsed.body):
            yield from _section(section, parsed, chunker, folder, path)

    yield scan_page(path, folder.root, folder.client, location, memories, loose=DIALECTS[folder.client].loose)
    yield Scan(covered=((folder.client, location),))
    for named in imports:
        yield from _follow(reading, path, named, hops)


def _follow(reading: _Reading, path: Path, named: Import, hops: int) -> Iterator[Scan]:
    target = named.path(path.parent, reading.folder.home)
    if not _there(target):
        if named.surely:
            yield _left_out(path, named, "what it imports is not there")
    elif target.resolve() in reading.seen:
        return
    elif hops == 0:
        yield _left_out(path, named, f"imports are followed {HOPS} deep, not further")
    elif not named.surely:
        yield _left_out(path, named, "what it imports is not a text page, left out")
    elif target.resolve().is_relative_to(reading.folder.root.resolve()):
        yield from _read(reading, target, hops - 1)
    else:
        yield _left_out(path, named, "imports from outside its folder, left out")


def _left_out(path: Path, named: Import, reason: str) -> Scan:
    return Scan(notes=(Note(str(path), f"line {named.line}: {reason}"),))


def _section(
    section: Section, parsed: Page, chunker: Chunker, folder: InstructionFolder, path: Path
) -> Iterator[FoundMemory]:
    if not without_imports(section.body).strip() and not section.above:
        return
    about = _about(parsed, folder, path)
    applies = f"Applies to: {', '.join(about)}" if about else ""
    purpose = line(parsed.text("description"))[:500]
    title = section.heading or purpose
    stem = "" if _own(folder, path) else path.stem.removesuffix(".instructions")
    yield from chunker.chunks(
        section.heading,
        "\n\n".join(part for part in (*section.above, title, applies, section.body) if part),
        type=of_instruction(title),
        scope=Scope.PROJECT if folder.project else Scope.SHARED,
        project=folder.project,
        tags=tags(re.sub(r"[-_]+", " ", stem), *(("override",) if ".override" in path.name else ())),
        occurred_at=chunker.changed,
        details=filled(paths=list(about), description=purpose),
    )


def _about(parsed: Page, folder: InstructionFolder, path: Path) -> Sequence[str]:
    """The files or folder that a file applies to: named by its rule, else the folder it is in."""
    named = tuple(line(item)[:255] for item in parsed.listed(DIALECTS[folder.client].about))[:_MAX_PATHS]
    inside = _inside(folder, path)
    if named or inside is None or not folder.is_repository or not _own(folder, path):
        return named
    here = inside.parent.parent if inside.parent.name in {".claude", ".github"} else inside.parent
    return () if here == Path() else (f"{line(here.as_posix())}/",)


def _own(folder: InstructionFolder, path: Path) -> bool:
    """True if the file has its client's standard name, which says nothing about the content."""
    return path.name.lower() in DIALECTS[folder.client].names


def _place(folder: InstructionFolder, path: Path) -> str:
    inside = _inside(folder, path)
    return line(path.as_posix()) if inside is None else f"{folder.portable}{line(inside.as_posix())}"


def _inside(folder: InstructionFolder, path: Path) -> Path | None:
    """The path relative to the root: of a link itself if that is below the root, else of its target."""
    reached = next((item for item in (path, path.resolve()) if item.is_relative_to(folder.root)), None)
    return None if reached is None else reached.relative_to(folder.root)


def _there(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False
