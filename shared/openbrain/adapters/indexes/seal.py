"""A seal shows whether the files of a closed index are unchanged: written on close, removed at the next start.

Engines write to memory-mapped files without checksums. Zeros in such a file would go unnoticed, and searches would
return too little.
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
    """The state of a seal at a start."""

    WHOLE = "whole"
    BROKEN = "broken"
    """A file is missing, or differs from when the index was closed."""
    MISSING = "missing"
    """The last process did not close the index."""


class _File(NamedTuple):
    size: int
    mtime_ns: int
    crc: int


def close_with_seal(folder: Path) -> None:
    """Record the state of the files. If that fails there is no seal, and the next start examines the index."""
    unfinished = folder / f".{SEAL}"
    with suppress(OSError):
        digests = {str(path.relative_to(folder)): _noted(path) for path in _files(folder)}
        unfinished.write_text(json.dumps(digests), encoding="utf-8")
        unfinished.replace(folder / SEAL)


def break_seal(folder: Path) -> Seal:
    """Compare the files with the seal and remove it: from now on they change."""
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
        # A copy has different times and the same content.
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
    """Checksum of all non-zero blocks and their positions: holes cost nothing, and a copy may have filled them with
    zeros."""
    crc = 0
    with path.open("rb") as file:
        for place in _blocks(file.fileno()):
            block = os.pread(file.fileno(), _BLOCK, place)
            if block != _EMPTY[: len(block)]:
                crc = zlib.crc32(block, zlib.crc32(place.to_bytes(8, "little"), crc))
    return crc


def _blocks(descriptor: int) -> Iterator[int]:
    """Yield the positions of blocks that may be non-zero."""
    size, place = os.fstat(descriptor).st_size, 0
    while place < size:
        try:
            data = os.lseek(descriptor, place, os.SEEK_DATA)
        except OSError:
            return  # only a hole is left
        place = max(place, data - data % _BLOCK)
        yield place
        place += _BLOCK
