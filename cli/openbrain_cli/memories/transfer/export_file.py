"""A file of an export on disk, plain or packed; read line by line."""

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

PART_LINES = 5000
PART_BYTES = 4 * 1024 * 1024
"""Of one request: seconds of work, so that progress is seen and little is sent again."""
_GZIP = b"\x1f\x8b"
_KIND = b'{"kind":"'
_BROKEN = (OSError, EOFError, zlib.error)


@dataclass(frozen=True, slots=True)
class Checked:
    """A file that was read through once."""

    header: Header
    size: int
    """Bytes, unpacked."""
    problem: str
    """The reason why it is incomplete; '' where it is complete."""


@dataclass(frozen=True, slots=True)
class Part:
    """Some of its lines, as a file of their own."""

    first: int
    """The number of the first of them in the whole file, 1 being its header."""
    body: bytes
    size: int
    """Bytes of the lines, without the header before them."""


def is_export(path: Path) -> bool:
    """Whether it begins as an export does."""
    if not path.is_file():
        return False
    try:
        with opened(path) as file:
            first = orjson.loads(file.readline(limits.LINE_BYTES))
    except (*_BROKEN, orjson.JSONDecodeError):
        return False
    return isinstance(first, dict) and first.get("format") == FORMAT


def opened(path: Path) -> BinaryIO:
    """Open an export: its lines, unpacked."""
    file = path.open("rb")
    if file.peek(2)[:2] == _GZIP:
        return cast("BinaryIO", io.BufferedReader(cast("io.RawIOBase", gzip.GzipFile(fileobj=file, mode="rb"))))
    return file


def kind_of(line: bytes) -> str:
    """The kind of a line; '' for none."""
    if line.startswith(_KIND):
        return line[len(_KIND) :].partition(b'"')[0].decode("ascii", "replace")
    try:
        parsed = orjson.loads(line)
    except orjson.JSONDecodeError:
        return ""
    return str(parsed.get("kind", "")) if isinstance(parsed, dict) else ""


def check(path: Path) -> Checked:
    """Read it through. `Invalid` where it is no export, or of a version that is not known here."""
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
        raise Invalid("", f"{path.name} is empty")
    return Checked(header, size, problem or _problem(last, digest.hexdigest()))


def _problem(last: bytes, digest: str) -> str:
    if kind_of(last) != "footer":
        return "its footer is missing: it was cut off"
    try:
        footer = parse_line(last)
    except Invalid:
        return "its footer can't be read"
    whole = isinstance(footer, Footer) and footer.digest == f"sha256:{digest}"
    return "" if whole else "its digest is of another file: it was changed or is not whole"


def parts(path: Path) -> Iterator[Part]:
    """The lines after the header, some at a time. A file that was cut ends where it was cut."""
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
        if lines:
            yield Part(first, b"".join([header, *lines]), size)


def _whole_lines(file: BinaryIO) -> Iterator[bytes]:
    try:
        for line in file:
            if line.endswith(b"\n"):
                yield line
    except _BROKEN:
        return
