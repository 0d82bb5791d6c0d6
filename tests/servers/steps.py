"""What the installers share: a line of progress, a command with its log, a failure in one line."""

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
        """Run a command to its end; what it writes goes to a log that the error quotes."""
        log = HOME / "log" / f"{self.name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as out:
            done = subprocess.run(
                command, env=env, cwd=cwd or HOME, stdin=subprocess.DEVNULL, stdout=out, stderr=out, check=False
            )
        if done.returncode:
            last = next((line for line in reversed(log.read_text(errors="replace").splitlines()) if line.strip()), "")
            raise CantInstall(f"`{' '.join(command[:3])} ...` failed: {last.strip()[:200]} (all of it: {log})")


def tool(name: str, advice: str) -> str:
    """Find a program that an installer needs."""
    found = shutil.which(name)
    if found is None:
        raise CantInstall(f"{name} isn't installed: {advice}")
    return found
