"""libfaketime: a process for which every time function returns a wrong time."""

from collections.abc import Mapping
from pathlib import Path

from tests.servers.availability import Available, Missing, State

_FOLDERS = (*Path("/usr/lib").glob("*-linux-gnu"), Path("/usr/lib"), Path("/usr/local/lib"))


def _library() -> Path | None:
    places = (folder / "faketime" / "libfaketimeMT.so.1" for folder in _FOLDERS)
    return next((each for each in places if each.exists()), None)


def state() -> State:
    if _library() is None:
        return Missing("no libfaketime on this machine: run `make servers` as root, or install the package faketime")
    return Available(str(_library()))


def wrong_by(seconds: int) -> Mapping[str, str]:
    """Return the environment of a process whose clock is wrong by `seconds`."""
    return {"LD_PRELOAD": str(_library()), "FAKETIME": f"{seconds:+d}", "FAKETIME_NO_CACHE": "1"}
