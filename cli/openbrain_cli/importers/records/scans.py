"""Converts files of records to memories. A file is checked to its end before anything of it is used."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from openbrain_cli.importers.file_reading import Unreadable
from openbrain_cli.importers.found_memory import Note, Scan
from openbrain_cli.importers.markdown.chunks import Chunker
from openbrain_cli.importers.projects import portable_place
from openbrain_cli.importers.records.csv_tables import ENDINGS, csv_file
from openbrain_cli.importers.records.files import LINES, RecordFile, json_file
from openbrain_cli.importers.records.mapping import memories
from openbrain_cli.importers.records.memory_systems import EXPORTS, is_complete

FILES = (*ENDINGS, *LINES, ".json")
OWN_FORMAT = "openbrain-export"


def scan(path: Path, home: Path, kind: str, columns: Mapping[str, str]) -> Iterator[Scan]:
    """Read a file's records as memories of that kind."""
    export = EXPORTS[kind]
    location = export.place or portable_place(path, home)
    try:
        file = opened(path)
        number, without = _counted(file)
    except Unreadable as error:
        yield Scan(notes=(Note(str(path), str(error)),), unread=frozenset({(kind, location)}))
        return
    mapped = export.mapped.with_columns(columns)
    chunker = Chunker(kind, location, file.changed)
    empty = 0
    for row in file.rows():
        if isinstance(row, dict):
            found_memories = tuple(memories(row, mapped, chunker))
            empty += not found_memories
            yield Scan(found_memories)
    covered = ((kind, location),) if not export.place or is_complete(file.envelope, number) else ()
    yield Scan(notes=tuple(_notes(path, number, without, empty)), covered=covered)


def opened(path: Path) -> RecordFile:
    return csv_file(path) if path.suffix.lower() in ENDINGS else json_file(path)


def kind_of(path: Path) -> str:
    """The system that a file's records come from, detected by the first one; `ndjson` if it can't be read."""
    if path.suffix.lower() in ENDINGS:
        return "csv"
    try:
        first = next(json_file(path).rows(), None)
    except Unreadable:
        return "ndjson"
    if not isinstance(first, dict):
        return "ndjson"
    if first.get("format") == OWN_FORMAT:
        return OWN_FORMAT
    if isinstance(first.get("mapping"), dict):
        return "chatgpt"
    return next(kind for kind, export in EXPORTS.items() if kind != "csv" and export.fits(first))


def _counted(file: RecordFile) -> tuple[int, int]:
    """Count all rows, and those that are not records. Reads to the end, so that no file is imported in part."""
    number = without = 0
    for row in file.rows():
        number += 1
        without += not isinstance(row, dict)
    return number, without


def _notes(path: Path, number: int, without: int, empty: int) -> Iterator[Note]:
    if without:
        yield Note(str(path), f"{without} of {number} entries are no records with named fields, left out")
    if empty and empty == number - without:
        yield Note(str(path), "no field of its records holds a text: name it with --map content=FIELD")
    elif empty:
        yield Note(str(path), f"{empty} of {number} records have no text, left out")
