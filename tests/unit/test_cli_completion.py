"""Shells complete commands, commands of groups and options."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

OPENBRAIN = Path(sys.executable).with_name("openbrain")

ASKED = """
eval "$(openbrain --show-completion bash)"
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


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_each_shell_can_be_seen(shell: str) -> None:
    done = subprocess.run([OPENBRAIN, "--show-completion", shell], capture_output=True, text=True, check=True)
    assert "_OPENBRAIN_COMPLETE" in done.stdout
