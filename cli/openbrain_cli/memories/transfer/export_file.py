"""Reading of an export file, plain or compressed, line by line."""

import codecs
import gzip
import hashlib
import io
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

import orjson

from openbrain.domain import limits
from openbrain.domain.errors import Invalid
from openbrain.usecases.transfer.lines import FORMAT, Footer, Header, parse_header, parse_line
from openbrain.usecases.transfer.writing import footer_line

PART_LINES = 5000
PART_BYTES = 4 * 1024 * 1024
"""Maximum size of one request: it takes seconds, so that progress is visible and a retry repeats little."""
_GZIP = b"\x1f\x8b"
_LINE_ENDS = (b"\n", b"\r")
_KIND = b'{"kind":"'
_BROKEN = (OSError, EOFError, zlib.error)


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of reading a file once."""

    header: Header
    size: int
    """Uncompressed size in bytes."""
    problem: str
    """Why the file is incomplete; '' if it is complete."""


@dataclass(frozen=True, slots=True)
class Part:
    """Some of the file's lines, with a header before them."""

    first: int
    """Line number of the first one in the file; the file's header is line 1."""
    body: bytes
    size: int
    """Bytes of the lines without the header."""


def is_export(path: Path) -> bool:
    """True if the file begins like an export, or is packed and cut off before its first line."""
    if not path.is_file():
        return False
    if not path.is_file():  # a pipe would be waited for
        return False
    try:
        with opened(path) as file:
            first = orjson.loads(file.readline(limits.LINE_BYTES))
    except (EOFError, zlib.error):
        return True
    except (OSError, orjson.JSONDecodeError):
        return False
    return isinstance(first, dict) and first.get("format") == FORMAT


def opened(path: Path) -> BinaryIO:
    """Open an export for reading, decompressed if necessary, without the byte order mark and the empty lines that
    editors put before the header."""
    file = path.open("rb")
    if file.peek(2)[:2] == _GZIP:
        file.close()  # one that is given to GzipFile would stay open
        file = io.BufferedReader(cast("io.RawIOBase", gzip.GzipFile(path, mode="rb")))
    if file.peek(3)[:3] == codecs.BOM_UTF8:
        file.read(3)
    while file.peek(1)[:1] in _LINE_ENDS:
        file.read(1)
    return cast("BinaryIO", file)


def kind_of(line: bytes) -> str:
    """The kind of a line; '' if it has none."""
    if line.startswith(_KIND):
        return line[len(_KIND) :].partition(b'"')[0].decode("ascii", "replace")
    try:
        parsed = orjson.loads(line)
    except orjson.JSONDecodeError:
        return ""
    return str(parsed.get("kind", "")) if isinstance(parsed, dict) else ""


def check(path: Path) -> Checked:
    """Read the file to its end. Raise `Invalid` if it is no export, or of an unknown version."""
    digest, size = hashlib.sha256(), 0
    header: Header | None = None
    last = b""
    problem = ""
    try:
        with opened(path) as file:
            for line in file:
                header = header or parse_header(line)
                digest.update(last)
                last = line
                size += len(line)
    except _BROKEN:
        problem = "it can't be unpacked to its end: it was cut off"
    if header is None:
        raise Invalid("", f"{path}: {problem}; nothing of it can be read" if problem else f"{path.name} is empty")
    return Checked(header, size, problem or _problem(last, digest.hexdigest()))


def _problem(last: bytes, digest: str) -> str:
    if kind_of(last) != "footer":
        return "its footer is missing: it was cut off"
    if (footer := _footer(last)) is None:
        return "its footer can't be read"
    return "" if footer.digest == f"sha256:{digest}" else "its digest does not match: it was changed or is incomplete"


def _footer(line: bytes) -> Footer | None:
    try:
        footer = parse_line(line)
    except Invalid:
        return None
    return footer if isinstance(footer, Footer) else None


def parts(path: Path, *, cut: bool = False) -> Iterator[Part]:
    """Yield the lines after the header in parts. An incomplete file ends with its last complete line; the footer of a
    complete one needs no line end. `cut`: add a footer, at which the server ends the import."""
    with opened(path) as file:
        header = orjson.dumps({**orjson.loads(file.readline()), "part": True}) + b"\n"
        lines: list[bytes] = []
        first, size = 2, 0
        for line in _whole_lines(file):
            lines.append(line)
            size += len(line)
            if len(lines) >= PART_LINES or size >= PART_BYTES:
                yield Part(first, b"".join([header, *lines]), size)
                first, size, lines = first + len(lines), 0, []
        if cut:
            lines.append(footer_line(memories=0, history=0, lineage=0, digest=hashlib.sha256().hexdigest()))
        if lines:
            yield Part(first, b"".join([header, *lines]), size)


def _whole_lines(file: BinaryIO) -> Iterator[bytes]:
    try:
        for line in file:
            if line.endswith(b"\n") or _footer(line):
                yield line
    except _BROKEN:
        return
