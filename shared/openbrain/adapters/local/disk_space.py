"""Free space on the disks of the embedded parts."""

import os
from collections.abc import Sequence
from pathlib import Path

from openbrain.domain.errors import TryLater

_MB = 1024 * 1024
_OF_THE_DISK = 8
"""On a small disk, the reserve is at most 1/8 of its size."""
_FOR_INDEXES = 2
"""Indexes need 1/2 of the reserve: accepted memories are still indexed when new writes are already refused."""
_TO_START = 4
"""A start needs 1/4 of the reserve: database, streams and keys take little."""


class DiskSpace:
    """Checks the file systems of the folders, with one system call for each folder.

    Quotas of a user or a project are not considered.
    """

    def __init__(self, folders: Sequence[Path], reserve_mb: int) -> None:
        self._folders = tuple(dict.fromkeys(folders))
        self._reserve = reserve_mb * _MB

    def shortage(self) -> str:
        """Describe the disk that lacks space for writes; '' if there is enough."""
        return self._less_than(1)

    def to_start(self) -> str:
        """Describe the disk that lacks space for a start; '' if there is enough."""
        return self._less_than(_TO_START)

    def for_index(self, least: int = 0) -> None:
        """Raise `TryLater` if an index must not write because space, or `least` bytes, are missing: an engine that
        writes to memory-mapped files would crash the process."""
        if short := self._less_than(_FOR_INDEXES, least):
            raise TryLater(short)

    def _less_than(self, part: int, least: int = 0) -> str:
        for folder in self._folders if self._reserve else ():
            try:
                disk = os.statvfs(_existing(folder))
            except OSError:
                continue  # writing there raises the error
            free, whole = disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize
            needed = max(least, min(self._reserve, whole // _OF_THE_DISK) // part)
            if free < needed:
                return (
                    f"the disk of {folder} is full: {free // _MB} MB are free and {max(1, needed // _MB)} MB are "
                    "needed, so make room there"
                )
        return ""


def _existing(folder: Path) -> Path:
    """Return the folder, or its nearest existing parent."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder
