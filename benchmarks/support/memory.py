"""Memory of a program."""

import resource
import sys
from pathlib import Path

_STATUS = Path("/proc/self/status")


def peak_mb() -> float:
    """The most that this program has held. On Linux `getrusage` begins with what the process held that started it."""
    if _STATUS.exists():
        return int(_STATUS.read_text(encoding="utf-8").partition("VmHWM:")[2].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024**2 if sys.platform == "darwin" else 1024)


def held_mb() -> float:
    """Memory of this program now; on other systems than Linux the most that it has held."""
    if _STATUS.exists():
        return int(_STATUS.read_text(encoding="utf-8").partition("VmRSS:")[2].split()[0]) / 1024
    return peak_mb()
