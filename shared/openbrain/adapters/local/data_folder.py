"""The folder of everything embedded: one process at a time, readable by its owner alone."""

import fcntl
import os
import stat
from collections.abc import Collection, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import structlog

from openbrain.domain.errors import SetupError

_OTHERS = 0o077
_log = structlog.get_logger(__name__)


class DataFolder:
    """Holds the folder's lock from `open` to `close`. The lock goes with the process, however it ends."""

    def __init__(self, path: Path, *, leave: Collection[Path] = ()) -> None:
        """`leave`: folders in it whose rights are somebody else's choice."""
        self.path = path
        self._leave = leave
        self._lock: int | None = None

    def open(self) -> Self:
        """Make the folder (0700), or close the one that is there to others, and take its lock; `SetupError` names the
        process that has it."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        make_private(self.path, leave=self._leave)
        lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.read(lock, 32).decode(errors="replace").strip() or "another process"
            os.close(lock)
            raise SetupError(
                f"{self.path} is in use by OpenBrain (pid {holder}): use that one, stop it, "
                "or choose another folder with --data"
            ) from None
        os.ftruncate(lock, 0)
        os.pwrite(lock, str(os.getpid()).encode(), 0)
        self._lock = lock
        return self

    def close(self) -> None:
        """Give the lock back."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def make_private(folder: Path, *, leave: Collection[Path] = ()) -> None:
    """Take the rights of group and others from an existing folder and all that is in it. `leave`: folders in it that
    are left alone. `SetupError` where that can't be done."""
    found = folder.stat()
    if found.st_uid != os.geteuid() and os.geteuid() != 0:
        raise SetupError(
            f"{folder} belongs to another user (uid {found.st_uid}), who can read all that is stored in it: choose a "
            f"folder of your own, as with --data {folder / 'brain'}"
        )
    # The folder first: then nobody else can come to what is in it.
    closed = int(_close(folder))
    if folder.stat().st_mode & _OTHERS:
        raise SetupError(
            f"{folder} can be read by other users, and its file system keeps no rights: choose a folder on another one"
        )
    left = {each.resolve() for each in leave}
    closed += sum(_close(path) for path in _inside(folder, left))
    if closed:
        _log.warning(
            "start.folder_closed",
            path=str(folder),
            closed=closed,
            message="other users of this machine could read what is stored here: they can't any more",
        )


def _inside(folder: Path, left: Collection[Path]) -> Iterator[Path]:
    """Files and folders, but no links and nothing below what is left alone."""
    for path in folder.iterdir():
        if path.is_symlink() or path.resolve() in left:
            continue
        yield path
        if path.is_dir():
            yield from _inside(path, left)


def _close(path: Path) -> bool:
    """Whether group or others had any right. What belongs to someone else in a closed folder stays as it is."""
    try:
        mode = stat.S_IMODE(path.stat(follow_symlinks=True).st_mode)
        if mode & _OTHERS:
            path.chmod(mode & ~_OTHERS)
    except (FileNotFoundError, PermissionError):
        return False
    return bool(mode & _OTHERS)
