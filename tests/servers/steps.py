"""What the installers share: progress lines, commands with a log, one-line failures."""

import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.servers.places import HOME

_started = time.monotonic()
_one_at_a_time = threading.Lock()


class CantInstall(RuntimeError):
    """A server can't be installed on this machine; the text says why and what to do."""


@dataclass(frozen=True)
class Step:
    """One part of the installation."""

    name: str

    def say(self, text: str) -> None:
        with _one_at_a_time:
            # stderr: stdout carries the final table or its JSON.
            sys.stderr.write(f"{time.monotonic() - _started:6.1f} s  {self.name}: {text}\n")
            sys.stderr.flush()

    def run(self, command: Sequence[str], env: Mapping[str, str] | None = None, cwd: Path | None = None) -> None:
        """Run a command to its end; its output goes to a log that the error quotes."""
        log = HOME / "log" / f"{self.name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as out:
            done = subprocess.run(
                command, env=env, cwd=cwd or HOME, stdin=subprocess.DEVNULL, stdout=out, stderr=out, check=False
            )
        if done.returncode:
            told = _most_telling_line(log.read_text(errors="replace"))
            raise CantInstall(f"`{' '.join(command[:3])} ...` failed: {told[:200]} (all of it: {log})")


def _most_telling_line(text: str) -> str:
    """Return the first line that is labelled as an error, else the last line with a word in it."""
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    lines = [line.strip() for line in plain.splitlines() if re.search(r"\w", line)]
    errors = [line for line in lines if re.match(r"\W*(error|fatal|E:)", line, re.IGNORECASE)]
    return errors[0] if errors else lines[-1] if lines else "it said nothing"


def tool(name: str, advice: str) -> str:
    """Find a program that an installer needs."""
    found = shutil.which(name)
    if found is None:
        raise CantInstall(f"{name} isn't installed: {advice}")
    return found


def pip() -> list[str]:
    """Return a working pip command: an environment made by uv has no pip of its own."""
    for python in (sys.executable, f"{sys.base_prefix}/bin/python3", shutil.which("python3") or sys.executable):
        if not subprocess.run([python, "-m", "pip", "--version"], capture_output=True, check=False).returncode:
            return [python, "-m", "pip", "--disable-pip-version-check"]
    raise CantInstall("no Python here has pip: run `python -m ensurepip`")


def setting_of_pip(name: str) -> str | None:
    """Return a setting of pip on this machine (`cert`, `index-url`), from its files or the environment."""
    done = subprocess.run([*pip(), "config", "list"], capture_output=True, text=True, check=True)
    # Lines such as global.cert='/x' and :env:.cert='/x'; the environment comes first and wins.
    for line in done.stdout.splitlines():
        key, _, value = line.partition("=")
        if key.rpartition(".")[2] == name:
            return value.strip().strip("'\"")
    return None
