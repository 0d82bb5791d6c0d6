"""Shells complete commands, commands of groups and options."""

import os
import shutil
import subprocess
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.support.cli.terminal import PROGRAM, Terminal
from tests.support.processes.shell_program import shell_program

ASKED = """
eval "$(openbrain completion bash)"
COMP_WORDS=({words}); COMP_CWORD={at}; COMP_TYPE=9
_openbrain_completion openbrain
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("openbrain", "rec"), {"recall"}),
        (("openbrain", "keys", "re"), {"revoke"}),
        (("openbrain", "recall", "--min-c"), {"--min-confidence"}),
    ],
)
def test_bash_completes(words: tuple[str, ...], offered: set[str], tmp_path: Path) -> None:
    script = ASKED.format(words=" ".join(words), at=len(words) - 1)
    # The first word is completed by the installed program, the others by one that forks.
    with shell_program(tmp_path / "openbrain") if words[1] != "rec" else nullcontext():
        path = os.pathsep.join([str(tmp_path), str(PROGRAM.parent), os.environ["PATH"]])
        bash = shutil.which("bash") or ""
        done = subprocess.run([bash, "-c", script], env={"PATH": path}, capture_output=True, text=True, check=True)
    assert offered <= set(done.stdout.split()), done.stderr


@pytest.mark.parametrize(
    ("shell", "word"),
    [
        ("bash", "complete -o"),
        ("zsh", "#compdef openbrain"),
        ("fish", "complete --command openbrain"),
        ("powershell", "Register-ArgumentCompleter"),
    ],
)
def test_the_script_of_each_shell_can_be_seen(shell: str, word: str, tmp_path: Path) -> None:
    done = Terminal(tmp_path, tmp_path / "data").run("completion", shell)
    assert done.code == 0
    assert word in done.out
    assert "_OPENBRAIN_COMPLETE" in done.out


def test_a_shell_that_nobody_knows(tmp_path: Path) -> None:
    done = Terminal(tmp_path, tmp_path / "data").run("completion", "tcsh")
    assert (done.code, done.out) == (2, "")
    assert "bash" in done.err
