"""Folders that hold one generation each."""

import contextlib
import shutil
from datetime import UTC, datetime
from itertools import count
from pathlib import Path


def remove_folder(path: Path) -> None:
    """Delete it, aside first: of a half deleted one nothing is left under its name. Nothing where there is none."""
    aside = path.with_name(f".{path.name}.dropped")
    shutil.rmtree(aside, ignore_errors=True)
    with contextlib.suppress(FileNotFoundError):
        path.rename(aside)
    shutil.rmtree(aside, ignore_errors=True)


def set_aside(path: Path) -> Path:
    """Rename a damaged folder, so that a new one takes its place; nothing of it is lost. Returns where it is now."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    for number in count():
        aside = path.with_name(f"{path.name}.damaged-{stamp}{f'-{number}' if number else ''}")
        if not aside.exists():
            return path.rename(aside)
    raise AssertionError
