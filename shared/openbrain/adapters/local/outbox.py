"""Writes that could not be delivered to a server yet: a folder with a file for each, in the order in which they came.

A file is whole or not there, and on the disk before `add` returns. It goes when the server has acknowledged the write,
which it takes once by its idempotency key; so a delivery that was cut off is repeated without harm.
"""

import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from openbrain.domain.errors import Backlogged

MOST: Final = 10_000
"""Writes that wait, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Undelivered:
    """One POST: where to, what, and by which idempotency key."""

    key: str
    path: str
    body: Mapping[str, Any]
    file: str = ""
    """Its name in the folder; '' before it is there."""

    @classmethod
    def of(cls, path: str, body: Mapping[str, Any]) -> "Undelivered":
        """The same content is the same write."""
        text = json.dumps([path, body], sort_keys=True)
        return cls(key=hashlib.sha256(text.encode()).hexdigest()[:32], path=path, body=body)


class Outbox:
    """A folder of undelivered writes; several processes may add to it and deliver from it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add(self, item: Undelivered) -> None:
        """Keep it until it is delivered; again: kept once. `Backlogged` where too many wait."""
        self._folder.mkdir(parents=True, exist_ok=True)
        ending = f"-{hashlib.sha256(item.key.encode()).hexdigest()[:32]}.json"
        names = self._names()
        if any(name.endswith(ending) for name in names):
            return
        if len(names) >= MOST:
            raise Backlogged(f"{MOST} writes wait in {self._folder}: they are delivered when the brain is reached")
        name = f"{time.time_ns():020d}{ending}"
        beside = self._folder / f".{name}.{os.getpid()}"
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump({"key": item.key, "path": item.path, "body": item.body}, file)
            file.flush()
            os.fsync(descriptor)
        beside.rename(self._folder / name)
        self._sync()

    def items(self) -> Iterator[Undelivered]:
        """Those that wait, the oldest first. One that can't be read is set aside."""
        for name in self._names():
            try:
                found = json.loads((self._folder / name).read_bytes())
                yield Undelivered(key=found["key"], path=found["path"], body=found["body"], file=name)
            except FileNotFoundError:
                continue  # another process delivered it
            except (ValueError, KeyError, TypeError):
                (self._folder / name).replace(self._folder / f"{name}.unreadable")

    def remove(self, item: Undelivered) -> None:
        """It is delivered."""
        (self._folder / item.file).unlink(missing_ok=True)
        self._sync()

    def set_aside(self, item: Undelivered, reason: str) -> None:
        """The server refuses it for good: kept for a person, with the reason."""
        (self._folder / f"{item.file}.reason").write_text(f"{reason}\n", encoding="utf-8")
        (self._folder / item.file).replace(self._folder / f"{item.file}.refused")

    def _names(self) -> list[str]:
        if self._folder.is_dir():
            return sorted(path.name for path in self._folder.glob("[0-9]*.json"))
        return []

    def _sync(self) -> None:
        descriptor = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
