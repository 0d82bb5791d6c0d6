"""Reading of one Markdown page: the part that all kinds of pages share."""

from collections.abc import Callable, Iterable
from pathlib import Path

from openbrain_cli.importers.file_reading import Unreadable, read
from openbrain_cli.importers.found_memory import FoundMemory, Note, Scan
from openbrain_cli.importers.markdown.chunks import Chunker
from openbrain_cli.importers.markdown.frontmatter import Page, page

ToMemories = Callable[[Page, Chunker], Iterable[FoundMemory]]


def scan_page(
    path: Path, root: Path, client: str, location: str, to_memories: ToMemories, *, loose: bool = False
) -> Scan:
    """Read a page below `root`, with `location` as its portable path; or note why it can't be read."""
    try:
        file = read(path, root)
    except Unreadable as error:
        return Scan(notes=(Note(str(path), str(error)),), unread=frozenset({(client, location)}))
    parsed = page(file.text, loose=loose)
    notes = (Note(str(path), f"{parsed.problem}; taken as plain text"),) if parsed.problem else ()
    return Scan(tuple(to_memories(parsed, Chunker(client, location, file.changed))), notes)
