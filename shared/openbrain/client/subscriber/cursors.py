"""The stores in which a subscriber keeps how far it has read."""

import asyncio
import contextlib
import os
import threading
from pathlib import Path
from typing import Protocol

from openbrain.domain.errors import SetupError


class Cursor(Protocol):
    """Everything up to the kept number was handled."""

    async def load(self) -> int | None:
        """The kept number; None where nothing was kept yet."""

    async def save(self, seq: int) -> None:
        """Keep it in the place of the one before."""


class MemoryCursor:
    """For as long as the process lives."""

    def __init__(self, seq: int | None = None) -> None:
        self.seq = seq

    async def load(self) -> int | None:
        return self.seq

    async def save(self, seq: int) -> None:
        self.seq = seq


class FileCursor:
    """One small file, whole at every moment. One subscriber a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._writing = threading.Lock()

    async def load(self) -> int | None:
        """Read the cursor. An unreadable one, after a crash, counts as none: the present state is read instead."""
        return await asyncio.to_thread(self._load)

    async def save(self, seq: int) -> None:
        await asyncio.to_thread(self._save, seq)

    def _load(self) -> int | None:
        try:
            text = self.path.read_text(encoding="ascii").strip()
        except (FileNotFoundError, UnicodeDecodeError):
            return None
        except OSError as error:
            raise SetupError(f"the cursor {self.path} can't be read ({error.strerror}): look at its owner") from None
        return int(text) if text.isdecimal() else None

    def _save(self, seq: int) -> None:
        beside = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        with self._writing:  # a save that was given up still runs in its thread
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                with beside.open("w", encoding="ascii") as file:
                    file.write(f"{seq}\n")
                    file.flush()
                    os.fsync(file.fileno())
                beside.replace(self.path)
            except OSError as error:
                with contextlib.suppress(OSError):
                    beside.unlink(missing_ok=True)
                raise SetupError(
                    f"the cursor {self.path} can't be written ({error.strerror}): look at its folder"
                ) from None
