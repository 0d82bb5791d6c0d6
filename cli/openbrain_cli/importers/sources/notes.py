"""Folders of people's notes: plain Markdown, Obsidian vaults, basic-memory projects."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openbrain.domain.memory import MemoryType, Scope
from openbrain_cli.importers.file_reading import listing
from openbrain_cli.importers.found_memory import FoundMemory, Note, Scan, filled, line, tags
from openbrain_cli.importers.json_safe import that_fit
from openbrain_cli.importers.markdown.chunks import Chunker
from openbrain_cli.importers.markdown.frontmatter import Page
from openbrain_cli.importers.markdown.pages import scan_page
from openbrain_cli.importers.markdown.sections import Section, full_sections
from openbrain_cli.importers.markdown.wikilinks import inline_tags, wikilinks
from openbrain_cli.importers.memory_types import by_words, declared_type
from openbrain_cli.importers.projects import portable_place
from openbrain_cli.importers.sources.agent_files import day_of

ENDINGS = (".md", ".markdown")
_TAGS = 40
_DATES = ("date", "created", "created_at", "created-at", "modified", "updated", "updated_at")
_OURS = {*_DATES, "tags", "tag", "title", "type", "metadata"}


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteFolder:
    """A folder of notes, or one file in it."""

    path: Path
    client: str
    home: Path
    only: Path | None = None
    more: Callable[[Section], Mapping[str, Any]] = lambda _: {}
    """Returns more metadata for a section; none for plain Markdown."""


def scan(folder: NoteFolder) -> Iterator[Scan]:
    """Read every note, section by section. Hidden folders, such as the trash, are not searched."""
    portable = f"{portable_place(folder.path, folder.home)}/"
    listed = listing(folder.path, ENDINGS)
    for path in listed.pages if folder.only is None else (folder.only,):
        location = f"{portable}{line(path.relative_to(folder.path).as_posix())}"
        yield scan_page(path, folder.path, folder.client, location, _note(folder, path.stem))
        yield Scan(covered=((folder.client, location),))
    if folder.only is None:
        notes = tuple(Note(str(path), reason) for path, reason in listed.skipped)
        yield Scan(notes=notes, covered=((folder.client, portable),))


def _note(folder: NoteFolder, stem: str) -> Callable[[Page, Chunker], Iterator[FoundMemory]]:
    def to_memories(parsed: Page, chunker: Chunker) -> Iterator[FoundMemory]:
        title = parsed.text("title") or stem
        named = [tag.removeprefix("#") for item in ("tags", "tag") for tag in parsed.listed(item)]
        declared = declared_type(parsed.text("type"))
        ours = _OURS if declared else _OURS - {"type"}
        besides, _ = that_fit({str(name): value for name, value in parsed.meta.items() if name not in ours}, 4096)
        moments = [parsed.moment(name) for name in _DATES]
        moment = next(filter(None, moments), None) or day_of(stem)[0]
        for section in full_sections(parsed.body):
            links = wikilinks(section.body)
            yield from chunker.chunks(
                section.heading,
                section.text if section.heading or section.body == title else f"{title}\n\n{section.text}",
                type=declared or by_words(section.heading or title, MemoryType.DOCUMENTATION),
                scope=Scope.SHARED,
                tags=tags(*dict.fromkeys([*named, *inline_tags(section.body)][:_TAGS])),
                occurred_at=moment or chunker.changed,
                details={
                    "note": line(title)[:255],
                    **filled(links=list(links), properties=besides),
                    **folder.more(section),
                },
            )

    return to_memories
