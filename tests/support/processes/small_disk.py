"""A disk of a few megabytes, which only root can mount."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, size_mb: int) -> Iterator[Path]:
    """Mount it while the block runs."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size_mb}m", "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def fill(file: Path, leave_mb: int = 0) -> None:
    """Fill the disk until `leave_mb` MB are free; 0: to the last block."""
    with file.open("wb", buffering=0) as out:
        try:
            while shutil.disk_usage(file.parent).free > leave_mb << 20:
                out.write(b"x" * 65_536)
        except OSError:
            return
