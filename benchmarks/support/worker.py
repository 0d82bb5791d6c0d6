"""A process of `benchmarks.workers` over a folder of memories, and the JSON lines exchanged with it."""

import contextlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any


class Worker:
    """One running process; `ready` is its first line: address and key."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self.ready = self._line()

    def ask(self, command: str) -> dict[str, Any]:
        """The response to one command."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()
        return self._line()

    def _line(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("the worker ended")
        values: dict[str, Any] = json.loads(line)
        return values


@contextlib.contextmanager
def running_worker(name: str, count: int, folder: str | None, *words: str) -> Iterator[Worker]:
    """Run the worker of that name over `count` memories; without a folder, in a temporary one."""
    with contextlib.ExitStack() as stack:
        folder = folder or stack.enter_context(tempfile.TemporaryDirectory(prefix="openbrain-bench-"))
        process = subprocess.Popen(
            [sys.executable, "-m", f"benchmarks.workers.{name}", folder, str(count), *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdin is not None
        try:
            yield Worker(process)
        finally:
            process.stdin.close()
            process.wait(timeout=120)
