"""A complete OpenBrain in a separate process, started as a user starts it, and a client for it."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx

START_SECONDS = 60


@dataclass(frozen=True, slots=True)
class System:
    """Its address and a key."""

    url: str
    key: str
    folder: Path
    process: "subprocess.Popen[str]"

    def client(self) -> httpx.Client:
        """A client for one thread."""
        return httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {self.key}"}, timeout=120)


@contextlib.contextmanager
def running(environment: dict[str, str] | None = None, cpus: set[int] | None = None) -> Iterator[System]:
    """Run `openbrain up` with embedded parts in a temporary folder on a free port; stop it afterwards."""
    with tempfile.TemporaryDirectory(prefix="openbrain-bench-") as folder:
        command = [str(Path(sys.executable).parent / "openbrain"), "up", "--data", folder, "--port", "0"]
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=os.environ | (environment or {}),
            preexec_fn=(lambda: os.sched_setaffinity(0, cpus)) if cpus else None,  # noqa: PLW1509 - one system call
        )
        try:
            url = _first_url(process)
            key = (Path(folder) / "key").read_text(encoding="utf-8").split()[0]
            yield System(url, key, Path(folder), process)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=60)


def _first_url(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    deadline = time.monotonic() + START_SECONDS
    said = ""
    while time.monotonic() < deadline and (line := process.stdout.readline()):
        said += line
        if found := re.search(r"http://127\.0\.0\.1:\d+", line):
            return found.group(0)
    raise SystemExit(f"openbrain up did not start:\n{said}")


def wait_until_indexed(client: httpx.Client, ids: list[str], seconds: float = 1800) -> None:
    """Wait until every memory is `indexed`; check the last one first, because they are indexed in order."""
    deadline = time.monotonic() + seconds
    waiting = list(ids)
    while waiting:
        answer = client.get(f"/v1/brain/memories/{waiting[-1]}").raise_for_status().json()
        if answer["indexed"]:
            waiting.pop()
        elif time.monotonic() > deadline:
            raise SystemExit(f"{len(waiting)} memories are not indexed after {seconds:.0f} s")
        else:
            time.sleep(0.1)
