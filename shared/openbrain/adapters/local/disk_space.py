"""Free space on the disks of embedded parts."""

import os
from collections.abc import Sequence
from pathlib import Path

from openbrain.domain.errors import TryLater

_MB = 1024 * 1024
_OF_THE_DISK = 8
"""The reserve is this part of a small disk at most."""
_FOR_INDEXES = 2
"""Indexes may use this part of the reserve: what was accepted is indexed after writes are refused."""
_TO_START = 4
"""And a start this part of it: the truth, the streams and the keys take little."""


class DiskSpace:
    """Looks at the folders' file systems; a look is one system call a folder.

    A quota of a user or a project is not seen by it.
    """

    def __init__(self, folders: Sequence[Path], reserve_mb: int) -> None:
        self._folders = tuple(dict.fromkeys(folders))
        self._reserve = reserve_mb * _MB

    def shortage(self) -> str:
        """A description of the disk without room for writes; '' while there is enough."""
        return self._less_than(1)

    def to_start(self) -> str:
        """A description of the disk without room for a start; '' while there is enough."""
        return self._less_than(_TO_START)

    def for_index(self, least: int = 0) -> None:
        """`TryLater` where an index must not write, for lack of room or of `least` bytes: an engine that writes into
        mapped files would end the process."""
        if short := self._less_than(_FOR_INDEXES, least):
            raise TryLater(short)

    def _less_than(self, part: int, least: int = 0) -> str:
        for folder in self._folders if self._reserve else ():
            try:
                disk = os.statvfs(_existing(folder))
            except OSError:
                continue  # whoever writes there is told
            free, whole = disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize
            needed = max(least, min(self._reserve, whole // _OF_THE_DISK) // part)
            if free < needed:
                return (
                    f"the disk of {folder} is full: {free // _MB} MB are free and {max(1, needed // _MB)} MB are "
                    "needed, so make room there"
                )
        return ""


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that is there."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder
