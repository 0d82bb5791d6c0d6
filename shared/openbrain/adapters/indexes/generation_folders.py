"""Folders that contain one index generation each."""

import contextlib
import errno
import re
import shutil
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import structlog

_NO_DAMAGE = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.EACCES, errno.EPERM, errno.EROFS),
    *(errno.EAGAIN, errno.ENOMEM),
}
_log = structlog.get_logger(__name__)


def remove_folder(path: Path) -> None:
    """Delete a folder, if it exists. It is renamed first, so that a crash leaves no half deleted folder under its
    name."""
    aside = path.with_name(f".{path.name}.dropped")
    shutil.rmtree(aside, ignore_errors=True)
    with contextlib.suppress(FileNotFoundError):
        path.rename(aside)
    shutil.rmtree(aside, ignore_errors=True)


class DamagedError(Exception):
    """The files on disk are not what was written: they are set aside and rebuilt from the database."""


def damaged(error: BaseException) -> bool:
    """True if the engine's error comes from the data it read, not from a full disk, missing rights, or a lack of memory
    or file descriptors."""
    number = re.search(r"os error ([0-9]+)", str(error))
    return number is None or int(number[1]) not in _NO_DAMAGE


def set_aside_index(path: Path, why: str) -> None:
    """Set an index aside and log it."""
    aside = set_aside(path)
    _log.error(
        "start.damaged_set_aside",
        path=str(path),
        aside=str(aside),
        message=f"{why}: the index is rebuilt from the database; delete the copy set aside when nobody needs it: "
        "erased memories remain in it",
    )


def set_aside(path: Path) -> Path:
    """Rename a damaged folder to make place for a new one, without losing data. Return the new path."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    for number in count():
        aside = path.with_name(f"{path.name}.damaged-{stamp}{f'-{number}' if number else ''}")
        if not aside.exists():
            return path.rename(aside)
    raise AssertionError


def same_folder(path: Path, inode: int, holds: str) -> bool:
    """True if the folder at this path still has this inode and contains the file `holds`."""
    with contextlib.suppress(OSError):
        return path.stat().st_ino == inode and (path / holds).exists()
    return False
