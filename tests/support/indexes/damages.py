"""Damage that a power loss, a failing disk or a person does to a file."""

import os
from collections.abc import Callable
from pathlib import Path

Damage = Callable[[Path], None]


def zeros(file: Path) -> None:
    """All blocks are zeros: they were never written."""
    file.write_bytes(bytes(file.stat().st_size))


def zeros_behind(file: Path) -> None:
    """Zeros at the end: the size was written, the last block was not."""
    with file.open("ab") as out:
        out.write(bytes(4096))


def cut(file: Path) -> None:
    """The second half is lost."""
    os.truncate(file, file.stat().st_size // 2)


def emptied(file: Path) -> None:
    """The file is empty."""
    os.truncate(file, 0)


def gone(file: Path) -> None:
    """The file is missing."""
    file.unlink()


DAMAGES: tuple[Damage, ...] = (zeros, zeros_behind, cut, emptied, gone)
