"""Atomic writes of a vault's files: a reader sees the old content or the new, never a part."""

import ctypes
import errno
import hashlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache

from openbrain.domain.errors import Invalid, NotFound, TryLater
from openbrain.vault.files.folder import Entry, Folder, Seen, inherited


def _syncfs() -> Callable[[int], int] | None:
    if sys.platform != "linux" or tuple(map(int, re.findall(r"\d+", os.uname().release)[:2])) < (5, 8):
        return None
    return getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)


_SYNCFS = _syncfs()
_AT_ONCE = 1 << 20
_GONE = (NotFound, Invalid)
"""The folder of a file is gone, or somebody has put a link or a file in its place: nothing of ours is there."""
_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC


def write(folder: Folder, relative: str, *parts: bytes) -> None:
    """Write a file through a temporary file in the same folder, flushed to the disk before it is renamed."""
    lay_beside(folder, relative, parts, seen(folder, relative))
    with _named(folder, relative) as (parent, name):
        os.rename(beside_name(name), name, src_dir_fd=parent, dst_dir_fd=parent)
        os.fsync(parent)


def remove(folder: Folder, relative: str) -> None:
    """Remove a file; do nothing if there is none."""
    with suppress(NotFound), _named(folder, relative) as (parent, name), suppress(FileNotFoundError):
        os.unlink(name, dir_fd=parent)
        os.fsync(parent)


def seen(folder: Folder, relative: str) -> Seen | None:
    """The file's state; None if there is no file."""
    try:
        with folder.parent(relative) as (parent, name):
            return _seen(parent, name)
    except NotFound:
        return None


def lay_beside(
    folder: Folder,
    relative: str,
    parts: Sequence[bytes],
    before: Seen | None,
    mtime_ns: int | None = None,
    *,
    flush: bool = True,
) -> Entry:
    """Write the new content to a temporary file in the same folder. It gets the mode of the old file, else of the
    folder, and `mtime_ns` if that is given and earlier. `flush=False`: the caller calls `sync_all`. Return the entry
    that the file will have once it is in place."""
    with folder.parent(relative, create=True) as (parent, name):
        beside = beside_name(name)
        try:
            descriptor = os.open(beside, _NEW, 0o600, dir_fd=parent)
            try:
                os.fchmod(descriptor, inherited(parent) & 0o666 if before is None else before.mode)
                _write_all(descriptor, parts)
                stat = os.fstat(descriptor)
                if mtime_ns is not None and mtime_ns < stat.st_mtime_ns:
                    stat = _aged(descriptor, stat, mtime_ns)
                if flush:
                    os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            with suppress(OSError):
                os.unlink(beside, dir_fd=parent)
            raise TryLater(_message(relative, error)) from None
    return Entry(relative, stat.st_mtime_ns, stat.st_size)


def take_place(folder: Folder, relative: str, before: Seen | None, *, removed: bool = False) -> bool:
    """Rename the temporary file to its name, or remove the file; call `sync` to make that durable. If the file is not
    in the state `before`, leave it unchanged and return False."""
    with _named(folder, relative) as (parent, name):
        if _seen(parent, name) != before:
            with suppress(FileNotFoundError):
                os.unlink(beside_name(name), dir_fd=parent)
            return False
        if not removed:
            os.rename(beside_name(name), name, src_dir_fd=parent, dst_dir_fd=parent)
        elif before is not None:
            os.unlink(name, dir_fd=parent)
        return True


def move(folder: Folder, source: str, relative: str) -> bool:
    """Move a file to another name; call `sync` for both to make it durable. Between file systems it is copied: if a
    file has appeared at the new name meanwhile, leave both unchanged and return False."""
    with folder.parent(source) as (here, name), folder.parent(relative, create=True) as (there, new):
        try:
            os.rename(name, new, src_dir_fd=here, dst_dir_fd=there)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise TryLater(_message(relative, error)) from None
        else:
            return True
    lay_beside(folder, relative, (folder.read_bytes(source),), None, folder.stat(source).mtime_ns)
    if not take_place(folder, relative, None):
        return False
    sync(folder, relative)
    remove(folder, source)
    return True


def sync(folder: Folder, relative: str) -> None:
    """Make the current names in the file's folder durable (fsync of the folder)."""
    with suppress(*_GONE), _named(folder, relative) as (parent, _):
        os.fsync(parent)


def sync_all(folder: Folder, paths: Iterable[str]) -> bool:
    """Flush the file systems of these files to the disk, cheaper than file by file. False if the system can't do that
    or does not report failures (Linux before 5.8)."""
    if _SYNCFS is None:
        return False
    flushed: set[int] = set()
    for path in {path.rpartition("/")[0]: path for path in paths}.values():
        with suppress(*_GONE), folder.parent(path) as (parent, _):
            device = os.fstat(parent).st_dev
            if device not in flushed and _SYNCFS(parent) != 0:
                raise TryLater(f"{path}: the vault's disk answers {os.strerror(ctypes.get_errno())}")
            flushed.add(device)
    return True


def clear(folder: Folder, relative: str) -> None:
    """Remove the temporary file that a killed writer may have left for this file."""
    with suppress(*_GONE), folder.parent(relative) as (parent, name), suppress(FileNotFoundError):
        os.unlink(beside_name(name), dir_fd=parent)


@lru_cache(maxsize=1024)
def beside_name(name: str) -> str:
    """Name of the temporary file: hidden, so that no reader takes it for a page; short enough for every file system."""
    return f".{hashlib.sha256(name.encode()).hexdigest()[:16]}.openbrain"


@contextmanager
def _named(folder: Folder, relative: str) -> Iterator[tuple[int, str]]:
    """The folder and name of a file. On an OSError, remove the temporary file and raise TryLater."""
    with folder.parent(relative) as (parent, name):
        try:
            yield parent, name
        except OSError as error:
            with suppress(OSError):
                os.unlink(beside_name(name), dir_fd=parent)
            raise TryLater(_message(relative, error)) from None


def _write_all(descriptor: int, parts: Iterable[bytes]) -> None:
    waiting = bytearray()
    for part in (*parts, b""):
        waiting += part
        while waiting and (not part or len(waiting) >= _AT_ONCE):
            del waiting[: os.write(descriptor, waiting)]


def _aged(descriptor: int, stat: os.stat_result, mtime_ns: int) -> os.stat_result:
    """Set this earlier mtime if the file system allows it; the file's `stat` afterwards."""
    with suppress(OSError):
        os.utime(descriptor, ns=(stat.st_atime_ns, mtime_ns))
    return os.fstat(descriptor)


def _seen(parent: int, name: str) -> Seen | None:
    try:
        return Seen.of(os.stat(name, dir_fd=parent, follow_symlinks=False))
    except FileNotFoundError:
        return None


def _message(relative: str, error: OSError) -> str:
    hint = ": make room" if error.errno in {errno.ENOSPC, errno.EDQUOT} else ""
    return f"{relative}: the vault's disk answers {error.strerror}{hint}"
