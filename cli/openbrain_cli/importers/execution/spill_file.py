"""Texts on disk while an import runs: its memory grows with the number of sections, not with their length."""

import tempfile
from dataclasses import replace
from types import TracebackType
from typing import Self

from openbrain_cli.importers.found_memory import FoundMemory, SpilledText


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
        spilled = SpilledText(self._file, self._end, len(raw), memory.content_digest)
        self._end += len(raw)
        return replace(memory, content="", kept=spilled)
