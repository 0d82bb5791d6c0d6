"""Files of records, as one record per line or one JSON list. Read as a stream."""

import codecs
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from openbrain_cli.importers.file_reading import Unreadable, checked

MAX_FILE_BYTES = 1024 * 1024 * 1024
"""A larger file of records is refused."""
MAX_RECORD_CHARS = 32 * 1024 * 1024
"""A longer record, or JSON object around a list, is refused."""
LINES = (".ndjson", ".jsonl")
_BLOCK = 1024 * 1024
_SPACE = " \t\r\n"


@dataclass(frozen=True, slots=True)
class RecordFile:
    """A file of records; `rows` can be called repeatedly."""

    rows: Callable[[], Iterator[Any]]
    changed: datetime | None
    envelope: Mapping[str, Any] = field(default_factory=dict)
    """The fields around a list, such as counts and the address of the next page."""


def text_file(path: Path) -> tuple[Path, datetime | None]:
    """Check that an entire file is UTF-8 text. Raise `Unreadable` with the line if it is not."""
    real, changed = checked(path, path.parent, MAX_FILE_BYTES)
    decoder, line = codecs.getincrementaldecoder("utf-8")(), 1
    with real.open("rb") as file:
        if file.peek(2)[:2] in {b"\xff\xfe", b"\xfe\xff"}:
            raise Unreadable("is UTF-16 text: save it as UTF-8")
        while block := file.read(_BLOCK):
            if b"\0" in block:
                raise Unreadable("is binary, not text")
            line += _lines_in(decoder, block, line)
        _lines_in(decoder, b"", line, final=True)
    return real, changed


def _lines_in(decoder: codecs.IncrementalDecoder, block: bytes, line: int, *, final: bool = False) -> int:
    try:
        decoder.decode(block, final=final)
    except UnicodeDecodeError as error:
        bad = line + block.count(b"\n", 0, error.start)
        raise Unreadable(f"is not UTF-8 text (line {bad})") from None
    return block.count(b"\n")


def json_file(path: Path) -> RecordFile:
    """Read JSON records: a list, an object that contains a list, or one record per line."""
    real, changed = text_file(path)
    if path.suffix.lower() in LINES:
        return RecordFile(lambda: _lines(real), changed)
    with real.open(encoding="utf-8-sig") as file:
        first = next((item for block in iter(lambda: file.read(4096), "") for item in block.strip(_SPACE)[:1]), "")
    if first == "[":
        return RecordFile(lambda: _elements(real), changed)
    return _enclosed(real, changed)


def _lines(path: Path) -> Iterator[Any]:
    with path.open(encoding="utf-8-sig") as file:
        for number, text in enumerate(iter(lambda: file.readline(MAX_RECORD_CHARS + 1), ""), 1):
            if len(text) > MAX_RECORD_CHARS:
                raise Unreadable(f"line {number}: a record is longer than {MAX_RECORD_CHARS} characters")
            if text.strip():
                yield _parsed(text, f"line {number}")


def _enclosed(path: Path, changed: datetime | None) -> RecordFile:
    with path.open(encoding="utf-8-sig") as file:
        text = file.read(MAX_RECORD_CHARS + 1)
    if len(text) > MAX_RECORD_CHARS:
        raise Unreadable(f"is one JSON object of more than {MAX_RECORD_CHARS} characters: make it a list, or lines")
    whole: Any = _parsed(text, "it") if text.strip() else {}
    if not isinstance(whole, dict):
        return RecordFile(lambda: iter([whole] if whole else []), changed)
    lists = {name: value for name, value in whole.items() if _are_records(value)}
    if len(lists) > 1:
        raise Unreadable("holds several lists of records: make a file of the one to import")
    records = next(iter(lists.values()), [whole] if whole else [])
    around = {name: value for name, value in whole.items() if name not in lists} if lists else {}
    return RecordFile(lambda: iter(records), changed, around)


def _are_records(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def _elements(path: Path) -> Iterator[Any]:
    """The elements of a JSON list, read one by one, so that only one is in memory."""
    with path.open(encoding="utf-8-sig") as file:
        buffer = _Buffer(file)
        buffer.expect("[")
        number, more = 0, buffer.peek() != "]"
        while more:
            number += 1
            yield buffer.value(f"record {number}")
            more = buffer.peek() == ","
            buffer.expect("," if more else "]")
        if not number:
            buffer.expect("]")
        if buffer.peek():
            raise Unreadable("more text follows its list")


class _Buffer:
    """A text file as JSON tokens."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._text = ""
        self._at = 0
        self._block = _BLOCK

    def peek(self) -> str:
        """The next character that is not white space; '' at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _SPACE:
                self._at += 1
            if self._at < len(self._text) or not self._more():
                return self._text[self._at : self._at + 1]

    def expect(self, mark: str) -> None:
        if self.peek() != mark:
            raise Unreadable(f"is no JSON list: {mark} is missing")
        self._at += 1

    def value(self, what: str) -> Any:
        self.peek()
        while True:
            parsed, end = None, -1
            try:
                parsed, end = _DECODER.raw_decode(self._text, self._at)
            except RecursionError:
                raise Unreadable(f"{what}: is too deeply nested") from None
            except ValueError:
                pass
            if 0 <= end < len(self._text):
                self._at = end
                return parsed
            # A value that ends at the end of the buffer may continue in the next block.
            if not self._more():
                if end < 0:
                    raise Unreadable(f"{what}: is no JSON")
                self._at = len(self._text)
                return parsed
            if len(self._text) > 2 * MAX_RECORD_CHARS:
                raise Unreadable(f"{what}: is longer than {MAX_RECORD_CHARS} characters, or is no JSON")

    def _more(self) -> bool:
        block = self._file.read(self._block)
        self._text = self._text[self._at :] + block
        self._at = 0
        self._block = max(_BLOCK, len(self._text))
        return bool(block)


_DECODER = json.JSONDecoder()


def _parsed(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise Unreadable(f"{what}: is too deeply nested") from None
    except ValueError:
        raise Unreadable(f"{what}: is no JSON") from None
