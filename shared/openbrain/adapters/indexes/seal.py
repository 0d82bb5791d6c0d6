"""Whether the files of a closed index are what its last user left: a seal made at the end, broken at the next start.

Engines write into mapped files that carry no check sums: zeros in them are found by nobody else, and searches would
answer with less than there is.
"""

import json
import os
import zlib
from collections.abc import Iterator
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import NamedTuple

SEAL = "sealed.json"
_BLOCK = 65_536
_EMPTY = bytes(_BLOCK)


class Seal(Enum):
    """The state of a seal."""

    WHOLE = "whole"
    BROKEN = "broken"
    """A file is missing, or it is another than when the index was closed."""
    MISSING = "missing"
    """The last user did not end by itself."""


class _File(NamedTuple):
    size: int
    mtime_ns: int
    crc: int


def close_with_seal(folder: Path) -> None:
    """Note what the files are. Where that can't be written there is no seal, and the next start looks closer."""
    unfinished = folder / f".{SEAL}"
    with suppress(OSError):
        digests = {str(path.relative_to(folder)): _noted(path) for path in _files(folder)}
        unfinished.write_text(json.dumps(digests), encoding="utf-8")
        unfinished.replace(folder / SEAL)


def break_seal(folder: Path) -> Seal:
    """Look whether the files are as noted, and take the note away: from now on they change."""
    seal = folder / SEAL
    try:
        noted = {name: _File(*load) for name, load in json.loads(seal.read_bytes()).items()}
    except FileNotFoundError:
        return Seal.MISSING
    except (ValueError, TypeError, AttributeError):
        noted = None
    whole = noted is not None and all(_same(folder / name, item) for name, item in noted.items())
    seal.unlink()
    return Seal.WHOLE if whole else Seal.BROKEN


def _same(path: Path, noted: _File) -> bool:
    try:
        stat = path.stat()
        if stat.st_size != noted.size:
            return False
        # A copy has other times and the same content.
        return stat.st_mtime_ns == noted.mtime_ns or _crc(path) == noted.crc
    except OSError:
        return False


def _noted(path: Path) -> _File:
    crc = _crc(path)
    stat = path.stat()
    return _File(stat.st_size, stat.st_mtime_ns, crc)


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.name.endswith(".lock") and path.name not in (SEAL, f".{SEAL}"):
            yield path


def _crc(path: Path) -> int:
    """Of what is not zero, with its places: holes cost nothing, and a copy may have filled them."""
    crc = 0
    with path.open("rb") as file:
        for place in _blocks(file.fileno()):
            block = os.pread(file.fileno(), _BLOCK, place)
            if block != _EMPTY[: len(block)]:
                crc = zlib.crc32(block, zlib.crc32(place.to_bytes(8, "little"), crc))
    return crc


def _blocks(descriptor: int) -> Iterator[int]:
    """The places of blocks that may hold more than zeros."""
    size, place = os.fstat(descriptor).st_size, 0
    while place < size:
        try:
            data = os.lseek(descriptor, place, os.SEEK_DATA)
        except OSError:
            return  # nothing but a hole is left
        place = max(place, data - data % _BLOCK)
        yield place
        place += _BLOCK
