"""What a loss of power, a failing disk or a hand leave of a file."""

import os
from collections.abc import Callable
from pathlib import Path

Damage = Callable[[Path], None]


def zeros(file: Path) -> None:
    """Its blocks were never written."""
    file.write_bytes(bytes(file.stat().st_size))


def zeros_behind(file: Path) -> None:
    """Its size was, its last block was not."""
    with file.open("ab") as out:
        out.write(bytes(4096))


def cut(file: Path) -> None:
    """Its end is lost."""
    os.truncate(file, file.stat().st_size // 2)


def emptied(file: Path) -> None:
    """Nothing but its name is left."""
    os.truncate(file, 0)


def gone(file: Path) -> None:
    """Not even that."""
    file.unlink()


DAMAGES: tuple[Damage, ...] = (zeros, zeros_behind, cut, emptied, gone)
