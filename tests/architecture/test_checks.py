"""Lint and format, as in `make check`. Type checking takes half a minute and runs in `make check` alone."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers.places import ROOT

CHECKS = {
    "lint": ["ruff", "check", "--no-cache", "."],
    "format": ["ruff", "format", "--no-cache", "--check", "."],
}


@pytest.mark.parametrize("name", CHECKS)
def test_the_tree_passes(name: str) -> None:
    program, *arguments = CHECKS[name]
    result = subprocess.run(
        [Path(sys.executable).parent / program, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-2000:]
