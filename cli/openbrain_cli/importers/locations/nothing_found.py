"""Explanations of why a named path has nothing to import, and what to do about it."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from openbrain_cli.importers.found_memory import Note
from openbrain_cli.importers.locations.source import Client
from openbrain_cli.importers.projects import is_checkout
from openbrain_cli.importers.sources.note_kinds import has_pages


def without_memories(named: Iterable[Path], sources: Iterable[Path]) -> list[Path]:
    """The named paths in which nothing was found."""
    places = list(sources)
    return [path for path in named if not any(location.is_relative_to(path) for location in places)]


def reasons(paths: Iterable[Path], client: Client, notes: Sequence[Note]) -> list[Note]:
    """One note per path; none for a file that already has one."""
    noted = {Path(note.path).name for note in notes}
    return [Note(str(path), _reason(path, client)) for path in paths if path.is_dir() or path.name not in noted]


def _reason(path: Path, client: Client) -> str:
    if not path.is_dir():
        return "holds no memory: it is empty, or has no text under its headings"
    if client is not Client.AUTO:
        return f"holds nothing of {client.value}: leave out --from to have its kind detected"
    if not has_pages(path):
        return "holds no notes (.md), no instructions and no records: name a file, or say with --from what it is"
    if is_checkout(path):
        return (
            "is a git repository, of which only instructions for agents are imported, and it has none: "
            "name the folder with its notes, or import all its pages with --from markdown"
        )
    return "holds no memory: its pages are empty, or could not be read"
