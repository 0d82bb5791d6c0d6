"""Files that others wrote, read with care."""

import os
import stat
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

MAX_BYTES = 1024 * 1024
"""Above this a file is no notes, and is reported instead."""


@dataclass(frozen=True, slots=True)
class File:
    """A file's text and when it was last changed."""

    text: str
    changed: datetime | None


class Unreadable(Exception):
    """Why a file is skipped; says nothing of what is in it."""


def read(path: Path, within: Path) -> File:
    """The text of a file that lies in `within`. `Unreadable` for all that is no text of a reasonable size."""
    try:
        real = path.resolve(strict=True)
        if not real.is_relative_to(within.resolve()):
            raise Unreadable("is a link out of its folder")
        found = real.stat()
        if not stat.S_ISREG(found.st_mode):
            raise Unreadable("is not a file")
        if found.st_size > MAX_BYTES:
            raise Unreadable(f"is larger than {MAX_BYTES // 1024} KiB")
        raw = real.read_bytes()
    except OSError as error:
        raise Unreadable(f"can't be read: {error.strerror or 'the system refused'}") from None
    except RuntimeError:
        raise Unreadable("is a link that leads back to itself") from None
    return File(_text(raw), _moment(found.st_mtime))


@dataclass(frozen=True, slots=True)
class Listing:
    """What stands below a folder."""

    pages: tuple[Path, ...]
    """Markdown files, in order."""
    skipped: tuple[tuple[Path, str], ...]
    """Folders that were not looked into, and why."""


def listing(folder: Path) -> Listing:
    """Markdown files below a folder; links to folders are not followed."""
    found: list[Path] = []
    skipped: list[tuple[Path, str]] = []

    def refused(error: OSError) -> None:
        skipped.append((Path(error.filename or folder), f"can't be read: {error.strerror or 'the system refused'}"))

    for where, folders, files in os.walk(folder, onerror=refused):
        here = Path(where)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        linked = [name for name in folders if (here / name).is_symlink()]
        skipped += [(here / name, "is a linked folder: name it to import it") for name in linked]
        found += [here / name for name in sorted(files) if name.lower().endswith(".md")]
    return Listing(tuple(found), tuple(skipped))


def _text(raw: bytes) -> str:
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
