"""Prints where the tests keep their files: in memory if there is enough, because a disk delays every commit.

The tests prove the same there: none cuts the power, and a killed process leaves its files in memory as well.
"""

import shutil
import sys
import tempfile
from pathlib import Path

MEMORY = "/dev/shm"
"""Linux's in-memory file system."""
ROOM_GB = 6
LEFT_GB = 8
"""Gigabytes of memory left for the servers and the tests themselves."""


def main() -> None:
    """Print one line."""
    sys.stdout.write(f"{MEMORY if _fits() else tempfile.gettempdir()}\n")


def _fits() -> bool:
    try:
        mounts = [line.split() for line in Path("/proc/mounts").read_text(encoding="utf-8").splitlines()]
        lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return False
    options = next((each[3].split(",") for each in mounts if each[1:3] == [MEMORY, "tmpfs"]), ["noexec"])
    # Servers are started from there, and a test creates a system root with devices there.
    if {"noexec", "nodev", "ro"} & set(options):
        return False
    available = next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")) / 2**20
    return shutil.disk_usage(MEMORY).free / 2**30 >= ROOM_GB and available >= ROOM_GB + LEFT_GB


if __name__ == "__main__":
    main()
