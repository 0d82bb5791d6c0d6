"""Texts on disk while an import runs: its memory grows with the number of sections, not with their length."""

import dataclasses
import tempfile
from types import TracebackType
from typing import IO, Self

from openbrain_cli.importers.found_memory import FoundMemory


@dataclasses.dataclass(frozen=True, slots=True)
class _SpilledText:
    file: IO[bytes]
    at: int
    size: int
    digest: str

    def read(self) -> str:
        self.file.seek(self.at)
        return self.file.read(self.size).decode("utf-8")


class SpillFile:
    """A nameless file that nobody else can open, gone with the process."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the spill_file
        self._end = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()

    def put(self, memory: FoundMemory) -> FoundMemory:
        """A memory whose text is in the file."""
        raw = memory.content.encode("utf-8")
        self._file.seek(self._end)
        self._file.write(raw)
        spilled = _SpilledText(self._file, self._end, len(raw), memory.content_digest)
        self._end += len(raw)
        return dataclasses.replace(memory, content="", kept=spilled)
