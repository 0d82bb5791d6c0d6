"""Single files of a vault, each put in place whole: a reader sees the old one or the new one."""

import errno
import hashlib
import os
import stat
from contextlib import suppress

from openbrain.errors import NotFound, TryLater
from openbrain.vault.folder import Folder

_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC


def write(folder: Folder, relative: str, data: bytes) -> None:
    """Through a temporary file beside it, flushed to the disk before it takes the name."""
    with folder.parent(relative, create=True) as (parent, name):
        beside = beside_name(name)
        try:
            _write_out(parent, beside, data, _mode(parent, name))
            os.rename(beside, name, src_dir_fd=parent, dst_dir_fd=parent)
            os.fsync(parent)
        except OSError as error:
            with suppress(OSError):
                os.unlink(beside, dir_fd=parent)
            raise TryLater(_told(relative, error)) from None


def remove(folder: Folder, relative: str) -> None:
    """Nothing where there is none."""
    with suppress(NotFound), folder.parent(relative) as (parent, name):
        try:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=parent)
                os.fsync(parent)
        except OSError as error:
            raise TryLater(_told(relative, error)) from None


def clear(folder: Folder, relative: str) -> None:
    """The temporary file that a killed writer may have left beside this one."""
    with suppress(NotFound), folder.parent(relative) as (parent, name), suppress(FileNotFoundError):
        os.unlink(beside_name(name), dir_fd=parent)


def beside_name(name: str) -> str:
    """Hidden, so that no reader takes it for a page; short enough for every file system."""
    return f".{hashlib.sha256(name.encode()).hexdigest()[:16]}.openbrain"


def _mode(parent: int, name: str) -> int | None:
    """Rights of the file that is replaced; None where there is none."""
    with suppress(FileNotFoundError):
        return stat.S_IMODE(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    return None


def _write_out(parent: int, name: str, data: bytes, mode: int | None) -> None:
    descriptor = os.open(name, _NEW, 0o666, dir_fd=parent)
    with os.fdopen(descriptor, "wb") as file:
        if mode is not None:
            os.fchmod(descriptor, mode)
        file.write(data)
        file.flush()
        os.fsync(descriptor)


def _told(relative: str, error: OSError) -> str:
    hint = ": make room" if error.errno in {errno.ENOSPC, errno.EDQUOT} else ""
    return f"{relative}: the vault's disk answers {error.strerror}{hint}"
