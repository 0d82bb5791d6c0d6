"""The folder of everything embedded: one process at a time, readable by its owner alone."""

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Self

from openbrain.errors import SetupError


class DataFolder:
    """Holds the folder's lock from `open` to `close`. The lock goes with the process, however it ends."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: int | None = None

    def open(self) -> Self:
        """Make the folder (0700) and take its lock; `SetupError` names the process that has it."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
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
