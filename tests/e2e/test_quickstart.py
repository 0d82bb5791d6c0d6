"""docs/quickstart.md, typed line by line into one shell: the output is what the page shows."""

import doctest
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cli.terminal import PROGRAM, Terminal, up
from tests.support.processes.shell_program import shell_program

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "quickstart.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
END = "-- that was it, with "
INSTALLED_EVERY = 5
SAME = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def typed(blocks: list[str]) -> list[tuple[str, str]]:
    """Pairs of a command and the output shown for it, in order."""
    found = []
    for block in blocks:
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            found.append((command, shown))
    return found


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    # In a clone the commands are in .venv/bin of the current folder.
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    (tmp_path / ".gitignore").write_bytes((ROOT / ".gitignore").read_bytes())
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    with up(Terminal(tmp_path, tmp_path / "data")) as running, shell_program(tmp_path / "forking"):
        yield running


def choose_program(terminal: Terminal, line: int) -> None:
    """Most commands are run by a fork, the others by starting the installed program."""
    (terminal.home / "chosen").symlink_to(terminal.home / "forking" if line % INSTALLED_EVERY else PROGRAM)
    (terminal.home / "chosen").replace(terminal.home / ".venv" / "bin" / "openbrain")


@pytest.mark.slow("some thirty commands beside a running system")
def test_every_line_of_the_page_does_what_it_shows(terminal: Terminal) -> None:
    shell = subprocess.Popen(
        ["/bin/bash", "--norc"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=terminal.home,
        env=terminal.env({"COLUMNS": "120"}),
    )
    assert shell.stdin
    assert shell.stdout
    failed = []
    lines = typed(BLOCKS)
    with shell:
        for line_number, (command, shown) in enumerate(lines, 4):
            choose_program(terminal, line_number)
            shell.stdin.write(f"{command}\nprintf '\\n{END}%s\\n' $?\n")
            shell.stdin.flush()
            told = ""
            while END not in (line := shell.stdout.readline()):
                assert line, f"the shell ended at: {command}"
                told += line
            if not doctest.OutputChecker().check_output(shown, told.removesuffix("\n"), SAME):
                failed.append(f"$ {command}\n--- shown\n{shown}--- printed\n{told}")
        shell.stdin.close()

    assert failed == [], "\n".join(failed)
    assert len(lines) > 25
    assert (terminal.home / "visitor.key").exists()
    status = ["git", "status", "--porcelain", "--untracked-files=all"]
    untracked = subprocess.run(status, cwd=terminal.home, check=True, capture_output=True, text=True).stdout
    assert "notes/shop.md" in untracked
    assert "visitor.key" not in untracked, "`git add .` never commits a key"


def test_the_page_starts_with_what_the_readme_promises() -> None:
    assert "make up" in PAGE
    assert "up:" in (ROOT / "Makefile").read_text(encoding="utf-8")
    assert os.access(PROGRAM, os.X_OK)
