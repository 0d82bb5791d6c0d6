"""Memory of a program."""

import resource
import sys
from pathlib import Path

_PROCESSES = Path("/proc")


def peak_mb() -> float:
    """Peak memory of this program. Not from `getrusage`, which on Linux starts with the memory of the parent
    process."""
    if _PROCESSES.exists():
        return _status_mb("VmHWM", "self")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024**2 if sys.platform == "darwin" else 1024)


def held_mb(pid: int | str = "self") -> float:
    """Current memory of a program; on other systems than Linux the peak memory of this one."""
    if _PROCESSES.exists():
        return _status_mb("VmRSS", pid)
    return peak_mb()


def _status_mb(name: str, pid: int | str) -> float:
    return int((_PROCESSES / f"{pid}/status").read_text(encoding="utf-8").partition(f"{name}:")[2].split()[0]) / 1024
