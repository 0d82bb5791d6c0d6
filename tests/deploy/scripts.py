"""Scripts of the folder deploy, which is no package."""

import runpy
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def script(path: str) -> dict[str, Any]:
    """What a script defines."""
    return runpy.run_path(str(ROOT / path))
