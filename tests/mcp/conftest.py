"""Fixtures of the tools: the brain that they use, and the command that serves them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.api.brain import brain, brain_database_url
from tests.support.processes.shell_program import shell_program

__all__ = ["brain", "brain_database_url", "forking"]


@pytest.fixture(scope="module")
def forking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The command as one that forks instead of starting: what the installed one does at start is not tested here."""
    path = tmp_path_factory.mktemp("bin") / "openbrain"
    with shell_program(path):
        yield path
