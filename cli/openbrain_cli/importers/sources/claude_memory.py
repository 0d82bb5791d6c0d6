"""Claude Code's memory folders: an index, topic files with frontmatter in two shapes, or one long MEMORY.md."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from openbrain.domain.memory import MemoryType, Scope
from openbrain_cli.importers.file_reading import listing
from openbrain_cli.importers.found_memory import FoundMemory, Note, Scan, filled, line, tags
from openbrain_cli.importers.markdown.chunks import Chunker
from openbrain_cli.importers.markdown.frontmatter import Page
from openbrain_cli.importers.markdown.pages import ToMemories, scan_page
from openbrain_cli.importers.markdown.sections import Section, full_sections
from openbrain_cli.importers.markdown.wikilinks import wikilinks
from openbrain_cli.importers.memory_types import by_words, of_topic, scope_of

CLIENT = "claude"
INDEX = "MEMORY.md"
CONFIDENCE = 0.7
"""Confidence in notes that an agent wrote for itself."""

_INDEX_LINE = re.compile(r"\s*[-*+]\s+(?:\[[^\]]+\]\((?P<file>[^)]+)\)|\[\[[^\]]+\]\]|`[^`]+\.md`)")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFolder:
    """A memory folder, and what its location says about it."""

    path: Path
    portable: str
    """Prefix of the portable path of every file in it."""
    project: str = ""
    agent: str = ""
    """The sub-agent that the folder belongs to."""
    only: Path | None = None
    """The only file to read, if the user named one."""


def scan(folder: MemoryFolder) -> Iterator[Scan]:
    """Read the folder page by page."""
    listed = listing(folder.path)
    with_topics = any(not _is_index(path, folder) for path in listed.pages)
    for path in listed.pages if folder.only is None else [path for path in listed.pages if path == folder.only]:
        location = f"{folder.portable}{line(path.relative_to(folder.path).as_posix())}"
        yield scan_page(path, folder.path, CLIENT, location, _memories(path, folder, with_topics=with_topics))
    covered = folder.portable if folder.only is None else f"{folder.portable}{line(folder.only.name)}"
    notes = tuple(Note(str(path), reason) for path, reason in listed.skipped)
    yield Scan(notes=notes, covered=((CLIENT, covered),))


def _memories(path: Path, folder: MemoryFolder, *, with_topics: bool) -> ToMemories:
    if _is_index(path, folder):
        return lambda parsed, chunker: _index(parsed, chunker, folder, with_topics=with_topics)
    return lambda parsed, chunker: _topic(parsed, chunker, folder, path.stem)


def _is_index(path: Path, folder: MemoryFolder) -> bool:
    return path.name == INDEX and path.parent == folder.path


def _index(parsed: Page, chunker: Chunker, folder: MemoryFolder, *, with_topics: bool) -> Iterator[FoundMemory]:
    """Yield the index, except sections that only list topic files that exist."""
    for section in full_sections(parsed.body):
        if not (with_topics and _lists_topics(section)):
            yield from _section(section, chunker, folder, "")


def _lists_topics(section: Section) -> bool:
    lines = [text for text in section.body.split("\n") if text.strip()]
    listed = sum(map(_is_index_line, lines))
    return listed > 0 and listed * 2 >= len(lines)


def _is_index_line(text: str) -> bool:
    match = _INDEX_LINE.match(text)
    return match is not None and (match["file"] is None or ".md" in match["file"][1:])


def _topic(parsed: Page, chunker: Chunker, folder: MemoryFolder, stem: str) -> Iterator[FoundMemory]:
    """Yield one memory if the frontmatter describes the file, else one per section."""
    if not (parsed.text("name", "description", "type", "node_type")):
        for section in full_sections(parsed.body):
            yield from _section(section, chunker, folder, stem)
        return
    name, description, declared = parsed.text("name"), parsed.text("description"), parsed.text("type")
    body = parsed.body.strip("\n")
    if not (body.strip() or description):
        return
    head = [] if body.lstrip().startswith("#") else [_title(name or stem)]
    shown = description if description and description not in body else ""
    session = parsed.text("originSessionId")
    scope = scope_of(declared, folder.project)
    links = wikilinks(body)
    yield from chunker.chunks(
        "",
        "\n\n".join(part for part in (*head, shown, body) if part.strip()),
        type=of_topic(declared, name or stem, description),
        scope=scope,
        project=folder.project if scope is Scope.PROJECT else "",
        tags=_tags(folder, stem),
        confidence=CONFIDENCE,
        occurred_at=parsed.moment("modified") or chunker.changed,
        details={**_agent(folder), **filled(origin_session=session[:200], links=list(links))},
    )


def _section(section: Section, chunker: Chunker, folder: MemoryFolder, stem: str) -> Iterator[FoundMemory]:
    yield from chunker.chunks(
        section.heading,
        section.text,
        type=by_words(section.heading or stem, MemoryType.OBSERVATION),
        scope=scope_of("", folder.project),
        project=folder.project,
        tags=_tags(folder, stem),
        confidence=CONFIDENCE,
        occurred_at=chunker.changed,
        details=_agent(folder),
    )


def _title(name: str) -> str:
    """A file's name with spaces for its hyphens; a name with spaces is unchanged."""
    return name if " " in name else re.sub(r"[-_]+", " ", name)


def _agent(folder: MemoryFolder) -> dict[str, str]:
    return {"agent": line(folder.agent)} if folder.agent else {}


def _tags(folder: MemoryFolder, stem: str) -> tuple[str, ...]:
    return tags(re.sub(r"[-_]+", " ", stem), folder.agent)
