"""Which of the known tables a file or an address holds."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from openbrain_cli.importers.file_reading import Unreadable
from openbrain_cli.importers.records.csv_tables import ENDINGS
from openbrain_cli.importers.records.files import LINES, MAX_RECORD_CHARS, json_file, text_file
from openbrain_cli.importers.records.scans import opened
from openbrain_cli.memories.transfer.foreign import databases, sql_dump
from openbrain_cli.memories.transfer.foreign.rows import BrokenRow, Row, Rows, Table

COLUMNS = {
    "brain_memories": {"id", "workspace_id", "agent_id", "type", "content"},
    "thoughts": {"id", "content", "source", "metadata"},
}
"""The tables that are known, and what tells their rows from others."""
_DATABASES = (".db", ".sqlite", ".sqlite3")
_EXPORTED = {"kind", "type", "memory", "memory_scope"}
"""What a row of `thoughts` never has."""


def table_in(path: Path, named: str = "") -> Table | None:
    """The table of a file: the one named, else the one that it is by its columns. None where it holds none."""
    if not path.is_file():
        return None
    if path.suffix.lower() == ".sql":
        names = sql_dump.tables(path)
        return _chosen(path, names, named, lambda name: sql_dump.rows(path, name))
    if path.suffix.lower() in _DATABASES and databases.is_sqlite(path):
        names = databases.sqlite_tables(path)
        query = "SELECT * FROM {}".format
        return _chosen(path, names, named, lambda name: databases.sqlite_rows(path, query(name)))
    if path.suffix.lower() not in (*ENDINGS, *LINES, ".json"):
        return None
    name = named or _by_columns(path)
    return Table(name, path.name, partial(_records, path)) if name else None


def _chosen(path: Path, names: set[str], named: str, rows: Any) -> Table | None:
    wanted = [named] if named else list(COLUMNS)
    name = next((each for each in wanted if each in names), None)
    return None if name is None else Table(name, path.name, partial(rows, name))


def _by_columns(path: Path) -> str:
    first: Any = None
    try:
        first = next((row for row in _records(path) if not isinstance(row, BrokenRow)), None)
    except Unreadable:
        return ""
    if not isinstance(first, dict):
        return ""
    columns = set(first)
    if COLUMNS["brain_memories"] <= columns:
        return "brain_memories"
    timed = columns & {"created_at", "createdAt"}
    return "thoughts" if COLUMNS["thoughts"] <= columns and timed and not columns & _EXPORTED else ""


def _records(path: Path) -> Rows:
    """Records of a table or of JSON; in a file of lines a broken one is told, and the others are read."""
    if path.suffix.lower() in LINES:
        yield from _lines(path)
        return
    file = opened(path) if path.suffix.lower() in ENDINGS else json_file(path)
    for row in file.rows():
        yield row if isinstance(row, dict) else BrokenRow("is no record with named fields")


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
