"""Reading of untrusted files: checks their place, size and encoding."""

import os
import stat
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

MAX_BYTES = 1024 * 1024
"""A larger file is not read as notes; it is reported."""

NOT_OURS = frozenset({"node_modules", "vendor", "venv", "dist", "build", "target", "site-packages", "__pycache__"})
"""Folders in projects that contain third-party or generated files."""

_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class File:
    """A file's text and the time of its last change."""

    text: str
    changed: datetime | None


class Unreadable(Exception):
    """The reason for skipping a file, without its content."""


def read(path: Path, within: Path) -> File:
    """Read a text file below `within`. Raise `Unreadable` if it is elsewhere, too large or not text."""
    real, changed = checked(path, within, MAX_BYTES)
    try:
        raw = real.read_bytes()
    except OSError as error:
        raise _refused(error) from None
    return File(_text(raw), changed)


def checked(path: Path, within: Path, max_bytes: int) -> tuple[Path, datetime | None]:
    """Return a file's real path and the time of its last change.

    Raise `Unreadable` if it is not a regular file below `within` of at most `max_bytes`.
    """
    try:
        real = path.resolve(strict=True)
        if not real.is_relative_to(within.resolve()):
            raise Unreadable("is a link out of its folder")
        info = real.stat()
    except OSError as error:
        raise _refused(error) from None
    except RuntimeError:
        raise Unreadable("is a link that leads back to itself") from None
    if not stat.S_ISREG(info.st_mode):
        raise Unreadable("is not a file")
    if info.st_size > max_bytes:
        raise Unreadable(f"is larger than {max_bytes // 1024} KiB")
    return real, _moment(info.st_mtime)


def _refused(error: OSError) -> Unreadable:
    return Unreadable(f"can't be read: {error.strerror or 'the system refused'}")


@dataclass(frozen=True, slots=True)
class Listing:
    """The files below a folder."""

    pages: tuple[Path, ...]
    """Files, sorted by folder and name."""
    skipped: tuple[tuple[Path, str], ...]
    """Folders that were not searched, and why."""


def listing(folder: Path, endings: tuple[str, ...] = (".md",)) -> Listing:
    """List the files with these endings below a folder. Linked folders are not followed."""
    files_found: list[Path] = []
    skipped: list[tuple[Path, str]] = []

    def refused(error: OSError) -> None:
        skipped.append((Path(error.filename or folder), f"can't be read: {error.strerror or 'the system refused'}"))

    for where, folders, files in os.walk(folder, onerror=refused):
        here = Path(where)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        linked = [name for name in folders if (here / name).is_symlink()]
        skipped += [(here / name, "is a linked folder: name it to import it") for name in linked]
        files_found += [here / name for name in sorted(files) if name.lower().endswith(endings)]
    return Listing(tuple(files_found), tuple(skipped))


def _text(raw: bytes) -> str:
    if raw.startswith(_UTF_16):
        raise Unreadable("is UTF-16 text: save it as UTF-8")
    if b"\0" in raw:
        raise Unreadable("is binary, not text")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise Unreadable(f"is not UTF-8 text (line {line})") from None


def _moment(seconds: float) -> datetime | None:
    try:
        return datetime.fromtimestamp(int(seconds), UTC)
    except (ValueError, OverflowError, OSError):
        return None
