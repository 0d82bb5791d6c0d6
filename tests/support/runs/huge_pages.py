"""Moves a process's memory into huge pages, so that a fork of it copies entries of 2 MB and not of 4 KB."""

import ctypes
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_MAPS = Path("/proc/self/maps")
_HUGE = 2**21
_MADV_COLLAPSE = 25


def collapse() -> None:
    """Move what this process has allocated, where the system can (Linux 6.1)."""
    with suppress(OSError, AttributeError):
        advise = ctypes.CDLL(None).madvise
        advise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        for start, end in _allocated(_MAPS.read_text()):
            advise(start, end - start, _MADV_COLLAPSE)  # what can't be moved stays where it is


def _allocated(maps: str) -> Iterator[tuple[int, int]]:
    """Yield the first and the next address of the whole huge pages in the heap and in nameless private memory."""
    for line in maps.splitlines():
        addresses, mode, _, _, _, *name = line.split(maxsplit=5)
        start, end = (int(each, 16) for each in addresses.split("-"))
        start, end = -(-start // _HUGE) * _HUGE, end // _HUGE * _HUGE
        if mode == "rw-p" and name in ([], ["[heap]"]) and start < end:
            yield start, end
