"""Folders that hold one generation each."""

import contextlib
import shutil
from pathlib import Path


def remove_folder(path: Path) -> None:
    """Delete it, aside first: of a half deleted one nothing is left under its name. Nothing where there is none."""
    aside = path.with_name(f".{path.name}.dropped")
    shutil.rmtree(aside, ignore_errors=True)
    with contextlib.suppress(FileNotFoundError):
        path.rename(aside)
    shutil.rmtree(aside, ignore_errors=True)
