"""Rows of a table by its name, from any kind of file: a dump, a database, records."""

import json
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from functools import partial
from pathlib import Path
from typing import Any

from openbrain_cli.importers.file_reading import Unreadable
from openbrain_cli.importers.records.csv_tables import ENDINGS
from openbrain_cli.importers.records.files import LINES, MAX_RECORD_CHARS, json_file, text_file
from openbrain_cli.importers.records.scans import opened
from openbrain_cli.memories.transfer.foreign import databases, sql_dump
from openbrain_cli.memories.transfer.foreign.rows import BrokenRow, Row, Rows, record

DATABASES = (".db", ".sqlite", ".sqlite3")
_NULLS = ("NULL", "\\N")
"""How databases write a missing value in CSV, as an empty cell is an empty text."""


def rows_of_table(path: Path, table: str, fits: Callable[[AbstractSet[str]], bool]) -> Callable[[], Rows] | None:
    """A reader of the table's rows, or None if the file lacks the table. `fits` recognises records by their columns."""
    ending = path.suffix.lower()
    if ending == ".sql":
        return partial(sql_dump.rows, path, table) if table in sql_dump.tables(path) else None
    if ending in DATABASES:
        query = f"SELECT * FROM {table}"  # noqa: S608 - the name is one of ours
        return partial(databases.sqlite_rows, path, query) if table in databases.sqlite_tables(path) else None
    if ending not in (*ENDINGS, *LINES, ".json"):
        return None
    return partial(records, path) if fits(_columns(path)) else None


def json_object(path: Path) -> dict[str, Any]:
    """Read a file that is one JSON object; {} if it is something else or too large."""
    try:
        text_file(path)
        with path.open(encoding="utf-8-sig") as file:
            text = file.read(2 * MAX_RECORD_CHARS + 1)
        value = json.loads(text) if len(text) <= 2 * MAX_RECORD_CHARS and text.lstrip()[:1] == "{" else {}
    except (Unreadable, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _columns(path: Path) -> AbstractSet[str]:
    try:
        first = next((row for row in records(path) if not isinstance(row, BrokenRow)), {})
    except Unreadable:
        return set()
    return set(first)


def records(path: Path) -> Rows:
    """Read the records of a table or of JSON. In a file of lines, a broken line becomes a `BrokenRow`."""
    if path.suffix.lower() in LINES:
        yield from _lines(path)
        return
    if path.suffix.lower() in ENDINGS:
        for row in opened(path).rows():
            yield {name: None if cell in _NULLS else cell for name, cell in row.items()}
        return
    yield from map(record, json_file(path).rows())


def _lines(path: Path) -> Iterator[Row | BrokenRow]:
    real, _ = text_file(path)
    with real.open(encoding="utf-8-sig") as file:
        for number, text in enumerate(iter(lambda: file.readline(MAX_RECORD_CHARS + 1), ""), 1):
            if not text.strip():
                continue
            try:
                row = json.loads(text)
            except (ValueError, RecursionError):
                yield BrokenRow(f"line {number} is no JSON")
                continue
            yield row if isinstance(row, dict) else BrokenRow(f"line {number} is no record with named fields")
