"""State of one session, kept between its hooks in a file: what was shown and read already."""

import hashlib
import json
import os
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

KEPT_S: Final = 14 * 86_400
MOST_NAMES: Final = 2_000
FOLDER: Final = "sessions"


@dataclass(slots=True)
class Session:
    """`files` and `memories` were shown; `alarms` is the last text shown about alarms; `read` is the offset reached
    in each transcript, `markers` the keys of the markers found."""

    files: list[str] = field(default_factory=list)
    memories: list[str] = field(default_factory=list)
    alarms: str = ""
    read: dict[str, int] = field(default_factory=dict)
    markers: list[str] = field(default_factory=list)


def load(connection: Path, session: str) -> Session:
    """Load the state, or return a new one if there is none or it can't be read."""
    try:
        parsed: Any = json.loads(_path(connection, session).read_bytes())
        return Session(**parsed)
    except (OSError, ValueError, TypeError):
        return Session()


def save(connection: Path, session: str, known: Session) -> None:
    """Keep the state for the next hook. If two hooks run at once, the last save wins: some text may be shown twice."""
    path = _path(connection, session)
    path.parent.mkdir(parents=True, exist_ok=True)
    for names in (known.files, known.memories, known.markers):
        del names[:-MOST_NAMES]
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    beside.write_text(json.dumps(asdict(known)), encoding="utf-8")
    beside.replace(path)


def forget_old(connection: Path) -> None:
    """Remove the state of sessions that were not used for `KEPT_S`."""
    oldest = time.time() - KEPT_S
    folder = connection / FOLDER
    for path in folder.iterdir() if folder.is_dir() else ():
        # Another hook may remove it at the same moment.
        with suppress(FileNotFoundError):
            if path.stat().st_mtime < oldest:
                path.unlink()


def _path(connection: Path, session: str) -> Path:
    return connection / FOLDER / f"{hashlib.sha256(session.encode()).hexdigest()[:24]}.json"
