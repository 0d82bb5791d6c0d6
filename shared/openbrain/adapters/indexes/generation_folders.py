"""Folders that hold one generation each."""

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
    """Delete it, aside first: of a half deleted one nothing is left under its name. Nothing where there is none."""
    aside = path.with_name(f".{path.name}.dropped")
    shutil.rmtree(aside, ignore_errors=True)
    with contextlib.suppress(FileNotFoundError):
        path.rename(aside)
    shutil.rmtree(aside, ignore_errors=True)


class DamagedError(Exception):
    """The files on the disk are not what was written: they are set aside, and made anew from the database."""


def damaged(error: BaseException) -> bool:
    """Whether an engine's error comes from what it read. A full disk, missing rights and a lack of memory or of
    descriptors are no damage."""
    number = re.search(r"os error ([0-9]+)", str(error))
    return number is None or int(number[1]) not in _NO_DAMAGE


def set_aside_index(path: Path, why: str) -> None:
    """Set an index aside, and log it."""
    aside = set_aside(path)
    _log.error(
        "start.damaged_set_aside",
        path=str(path),
        aside=str(aside),
        message=f"{why}: the index is made anew from the database; delete what was set aside when nobody needs it, for "
        "what is erased stays in it",
    )


def set_aside(path: Path) -> Path:
    """Rename a damaged folder, so that a new one takes its place; nothing of it is lost. Returns where it is now."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    for number in count():
        aside = path.with_name(f"{path.name}.damaged-{stamp}{f'-{number}' if number else ''}")
        if not aside.exists():
            return path.rename(aside)
    raise AssertionError


def same_folder(path: Path, inode: int, holds: str) -> bool:
    """Whether the folder that had this inode still stands there, with the file that it always holds."""
    with contextlib.suppress(OSError):
        return path.stat().st_ino == inode and (path / holds).exists()
    return False
