"""The writer's lock of a vault: on a file in it, for writers that share no database."""

import errno
import fcntl
import os
from contextlib import suppress
from typing import Final

import structlog

from openbrain.domain.errors import SetupError
from openbrain.vault.files.folder import Folder, inherited

LOCK: Final = ".openbrain/lock"
_WITHOUT_LOCKS: Final = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}
"""Some network file systems have no locks."""
_FLAGS: Final = os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_log = structlog.get_logger(__name__)


class FolderLock:
    """Held until `release`, and no longer than the process lives. Blocking: call it in a thread."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._descriptor = -1

    def acquire(self) -> bool:
        """Take the lock. False if another writer has it; `SetupError` if the file can't be locked."""
        try:
            descriptor = self._opened()
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                return False
            except OSError as error:
                if error.errno not in _WITHOUT_LOCKS:
                    os.close(descriptor)
                    raise
                _log.info("vault.without_locks", reason=error.strerror)
        except OSError as error:
            raise SetupError(f"{self._folder.root / LOCK} can't be locked ({error.strerror})") from None
        self._descriptor = descriptor
        return True

    def release(self) -> None:
        """Release the lock if it is held."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _opened(self) -> int:
        with self._folder.parent(LOCK, create=True) as (parent, name):
            try:
                descriptor = os.open(name, os.O_RDWR | _FLAGS, 0o600, dir_fd=parent)
            except PermissionError:  # another user's, which may still be locked, if not on every file system
                return os.open(name, os.O_RDONLY | _FLAGS, dir_fd=parent)
            with suppress(PermissionError):  # of other users too, whatever this process's umask
                os.fchmod(descriptor, inherited(parent) & 0o666)
            return descriptor
