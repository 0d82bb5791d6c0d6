"""Shells complete commands, commands of groups and options."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

OPENBRAIN = Path(sys.executable).with_name("openbrain")

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
def test_bash_completes(words: tuple[str, ...], offered: set[str]) -> None:
    script = ASKED.format(words=" ".join(words), at=len(words) - 1)
    path = os.pathsep.join([str(OPENBRAIN.parent), os.environ["PATH"]])
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
def test_the_script_of_each_shell_can_be_seen(shell: str, word: str) -> None:
    done = subprocess.run([OPENBRAIN, "completion", shell], capture_output=True, text=True, check=True)
    assert word in done.stdout
    assert "_OPENBRAIN_COMPLETE" in done.stdout


def test_a_shell_that_nobody_knows() -> None:
    done = subprocess.run([OPENBRAIN, "completion", "tcsh"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "bash" in done.stderr
