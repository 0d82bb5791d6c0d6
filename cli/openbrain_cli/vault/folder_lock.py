"""The writer's lock of a vault that no server manages: on a file in it, since its writers share no database."""

import fcntl
import os
from pathlib import Path
from typing import Final

from openbrain.domain.errors import SetupError
from openbrain.vault.files.folder import Folder, inherited

LOCK: Final = ".openbrain/lock"


class FolderLeases:
    """`ports.store.operations.Leases` of one folder, whatever their name. They end with the process at the latest."""

    def __init__(self, root: Path) -> None:
        self._folder = Folder(root)
        self._holder = ""
        self._lock = -1

    async def acquire(self, name: str, holder: str, seconds: float) -> bool:  # noqa: ARG002 - the port's
        """Take the lock until `release`, whatever `seconds` says. False if another process has it; `SetupError` if the
        file can't be locked."""
        if self._holder:
            return self._holder == holder
        try:
            lock = self._opened()
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BaseException:
                os.close(lock)
                raise
        except BlockingIOError:
            return False
        except OSError as error:
            raise SetupError(f"{self._folder.root / LOCK} can't be locked ({error.strerror})") from None
        self._holder, self._lock = holder, lock
        return True

    async def release(self, name: str, holder: str) -> None:  # noqa: ARG002 - the port's
        """Release the lock if this holder has it."""
        if self._holder == holder:
            os.close(self._lock)
            self._holder = ""

    def _opened(self) -> int:
        with self._folder.parent(LOCK, create=True) as (parent, name):
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            return os.open(name, flags, inherited(parent) & 0o666, dir_fd=parent)
