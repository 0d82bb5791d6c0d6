"""Loads scripts of the folder deploy, which is not a package."""

import runpy
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def script(path: str) -> dict[str, Any]:
    """Return the names that a script defines."""
    return runpy.run_path(str(ROOT / path))
