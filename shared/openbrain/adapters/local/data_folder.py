"""The data folder of all embedded parts: used by one process at a time, readable by its owner only."""

import fcntl
import os
import stat
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import structlog

from openbrain.domain.errors import OpenBrainError, SetupError

_OTHERS = 0o077
_LOCK = "lock"
_TRIES = 5
_TRY_S = 0.02
"""`holder` takes the lock for a moment to test whether it is free; a start retries for that long."""
_LITTLE = 1024 * 1024
"""Free bytes without which nothing can start."""
_log = structlog.get_logger(__name__)


class DataFolder:
    """Holds the folder's lock from `open` to `close`. The system releases the lock when the process ends."""

    def __init__(self, path: Path, *, leave: Collection[Path] = ()) -> None:
        """`leave`: subfolders whose permissions are not changed."""
        self.path = path
        self._leave = leave
        self._lock: int | None = None

    def open(self) -> Self:
        """Create the folder (0700), or remove other users' permissions from an existing one, and take its lock. Raise
        `SetupError`, with the process id, if another process has it."""
        lock = self._opened()
        if not _locked(lock):
            pid = os.read(lock, 32).decode(errors="replace").strip() or "another process"
            os.close(lock)
            raise SetupError(
                f"{self.path} is in use by OpenBrain (pid {pid}): use that one, stop it, "
                "or choose another folder with --data"
            )
        try:
            os.ftruncate(lock, 0)
            os.pwrite(lock, str(os.getpid()).encode(), 0)
        except OSError as error:
            os.close(lock)
            raise unwritable(self.path, error) from None
        self._lock = lock
        return self

    def _opened(self) -> int:
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            make_private(self.path, leave=self._leave)
            return os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise unwritable(self.path, error) from None

    def close(self) -> None:
        """Release the lock."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _locked(lock: int) -> bool:
    for attempt in range(_TRIES):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if attempt + 1 < _TRIES:
                time.sleep(_TRY_S)
        else:
            return True
    return False


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that has a folder's lock."""

    pid: int
    since: float
    """Seconds since 1970."""


def holder(folder: Path) -> Holder | None:
    """Return the process that has the folder's lock now; None if it is free. Raise `SetupError` if that can't be
    seen."""
    try:
        lock = os.open(folder / _LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except PermissionError:
        raise closed(folder) from None
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        pid = os.read(lock, 32).decode(errors="replace").strip()
        return Holder(int(pid), os.fstat(lock).st_mtime) if pid.isdecimal() else None
    else:
        return None
    finally:
        os.close(lock)


def closed(folder: Path) -> SetupError:
    """Return the error that the folder is another user's, with the remedy."""
    return SetupError(
        f"{folder} is closed to this user: ask its owner for a key, and name the OpenBrain with --url and --key-file; "
        "or choose another folder with --data"
    )


def unwritable(folder: Path, error: OSError) -> SetupError:
    """Return the error that nothing can be written to the folder, with the remedy."""
    return SetupError(
        f"nothing can be kept in {folder} ({error.strerror or 'the system refused'}): make room or take the right to "
        "write there, or choose another folder with --data or OPENBRAIN_DATA_DIR"
    )


@contextmanager
def report_full_disk(folder: Path) -> Iterator[None]:
    """Convert errors raised inside into `unwritable` if the disk is full."""
    try:
        yield
    except (OpenBrainError, OSError):
        tried = folder / ".room"
        try:
            tried.write_bytes(bytes(_LITTLE))
        except OSError as error:
            raise unwritable(folder, error) from None
        finally:
            tried.unlink(missing_ok=True)
        raise


def make_private(folder: Path, *, leave: Collection[Path] = ()) -> None:
    """Remove the permissions of group and others from an existing folder and its contents. `leave`: subfolders that are
    not changed. Raise `SetupError` if the permissions can't be removed."""
    status = folder.stat()
    if status.st_uid != os.geteuid() and os.geteuid() != 0:
        raise SetupError(
            f"{folder} belongs to another user (uid {status.st_uid}), who can read all that is stored in it: choose a "
            f"folder of your own, as with --data {folder / 'brain'}"
        )
    # The folder first: after that nobody else can reach its contents.
    closed = int(_close(folder))
    if folder.stat().st_mode & _OTHERS:
        raise SetupError(
            f"{folder} can be read by other users, and its file system has no permissions: choose a folder on another "
            "file system"
        )
    left = {item.resolve() for item in leave}
    closed += sum(_close(path) for path in _inside(folder, left))
    if closed:
        _log.warning(
            "start.folder_closed",
            path=str(folder),
            closed=closed,
            message="other users of this machine could read what is stored here: they can't any more",
        )


def _inside(folder: Path, left: Collection[Path]) -> Iterator[Path]:
    """Yield files and folders; skip links, excluded folders and everything below them."""
    for path in folder.iterdir():
        if path.is_symlink() or path.resolve() in left:
            continue
        yield path
        if path.is_dir():
            yield from _inside(path, left)


def _close(path: Path) -> bool:
    """Remove the permissions of group and others; True if there were any. Another user's file can't be changed, but the
    closed folder protects it."""
    try:
        mode = stat.S_IMODE(path.stat(follow_symlinks=True).st_mode)
        if mode & _OTHERS:
            path.chmod(mode & ~_OTHERS)
    except (FileNotFoundError, PermissionError):
        return False
    return bool(mode & _OTHERS)
