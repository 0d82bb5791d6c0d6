"""One Markdown page to memories: what every kind of page has in common."""

from collections.abc import Callable, Iterable
from pathlib import Path

from openbrain_cli.importing.cutting import Cutter
from openbrain_cli.importing.found import Found, Note, Scan
from openbrain_cli.importing.frontmatter import Page, page
from openbrain_cli.importing.reading import Unreadable, read

ToMemories = Callable[[Page, Cutter], Iterable[Found]]


def scan_page(path: Path, root: Path, client: str, place: str, found: ToMemories, *, loose: bool = False) -> Scan:
    """The memories of a file below `root` that goes by `place`; or why it can't be read."""
    try:
        file = read(path, root)
    except Unreadable as error:
        return Scan(notes=(Note(str(path), str(error)),), unread=frozenset({(client, place)}))
    parsed = page(file.text, loose=loose)
    notes = (Note(str(path), f"{parsed.problem}; taken as plain text"),) if parsed.problem else ()
    return Scan(tuple(found(parsed, Cutter(client, place, file.changed))), notes)
