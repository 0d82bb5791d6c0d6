"""Tables of separated values: the first line names the columns."""

import csv
from collections.abc import Iterator
from pathlib import Path

from openbrain_cli.importers.file_reading import Unreadable
from openbrain_cli.importers.records.files import MAX_RECORD_CHARS, RecordFile, text_file

ENDINGS = (".csv", ".tsv")
_SEPARATORS = ",;\t|"


def csv_file(path: Path) -> RecordFile:
    real, changed = text_file(path)
    return RecordFile(lambda: _rows(real, _separator(real)), changed)


def _rows(path: Path, separator: str) -> Iterator[dict[str, str]]:
    csv.field_size_limit(MAX_RECORD_CHARS)
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter=separator, strict=True)
        try:
            names = _names(next(reader, []))
            for cells in reader:
                if any(cells):
                    more = [f"column {number}" for number in range(len(names) + 1, len(cells) + 1)]
                    yield dict(zip([*names, *more], cells, strict=False))
        except csv.Error:
            raise Unreadable(f"line {reader.line_num}: is no row of the table: check its quotes") from None


def _names(header: list[str]) -> list[str]:
    """A unique name for each column."""
    names: list[str] = []
    for number, cell in enumerate(header, 1):
        name = cell.strip() or f"column {number}"
        names.append(name if name not in names else f"{name} (column {number})")
    return names


def _separator(path: Path) -> str:
    """The separator that is most frequent in the first line. Quoted ones count too, which seldom matters."""
    with path.open(encoding="utf-8-sig") as file:
        first = file.readline(64 * 1024)
    counts = {mark: first.count(mark) for mark in _SEPARATORS}
    best = max(counts, key=lambda mark: counts[mark])
    return best if counts[best] else ","
