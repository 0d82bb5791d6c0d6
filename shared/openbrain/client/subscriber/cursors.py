"""Stores for a subscriber's cursor: how far it has read."""

import asyncio
import contextlib
import os
import threading
from pathlib import Path
from typing import Protocol

from openbrain.domain.errors import SetupError


class Cursor(Protocol):
    """Stores a number up to which everything was handled."""

    async def load(self) -> int | None:
        """Return the stored number; None if nothing was stored yet."""

    async def save(self, seq: int) -> None:
        """Store the number, replacing the previous one."""


class MemoryCursor:
    """Keeps the cursor in memory."""

    def __init__(self, seq: int | None = None) -> None:
        self.seq = seq

    async def load(self) -> int | None:
        return self.seq

    async def save(self, seq: int) -> None:
        self.seq = seq


class FileCursor:
    """Keeps the cursor in a file, replaced atomically. Each subscriber needs its own file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._writing = threading.Lock()

    async def load(self) -> int | None:
        """Read the cursor. Invalid content, as after a crash, counts as none: the present state is read instead."""
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
        with self._writing:  # a cancelled save still runs in its thread
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
