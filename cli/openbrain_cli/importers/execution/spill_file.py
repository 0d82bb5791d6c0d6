"""Texts kept on disk during an import, so that its memory use does not grow with the length of the texts."""

import tempfile
from dataclasses import replace
from types import TracebackType
from typing import Self

from openbrain_cli.importers.found_memory import FoundMemory, SpilledText


class SpillFile:
    """An anonymous temporary file, which is deleted with the process."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the spill file
        self._end = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()

    def put(self, memory: FoundMemory) -> FoundMemory:
        """Write the memory's text to the file; return the memory without it."""
        raw = memory.content.encode("utf-8")
        self._file.seek(self._end)
        self._file.write(raw)
        spilled = SpilledText(self._file, self._end, len(raw), memory.content_digest)
        self._end += len(raw)
        return replace(memory, content="", kept=spilled)
