"""What `make check` checks holds in every test run."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHECKS = {
    "lint": ["ruff", "check", "--no-cache", "."],
    "format": ["ruff", "format", "--no-cache", "--check", "."],
    "types": ["mypy"],
}


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", CHECKS)
def test_the_tree_passes(name: str) -> None:
    program, *arguments = CHECKS[name]
    result = subprocess.run(
        [Path(sys.executable).parent / program, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-2000:]
