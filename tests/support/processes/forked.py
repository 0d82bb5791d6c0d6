"""Runs `openbrain ...` in a fork of a process that has everything imported, so that the cost of a start is paid once.

The command's own `main` runs in a separate process with its own environment, folder, standard streams, exit status and
signals; only the interpreter's start and the imports are shared. The installed program itself is started by the tests
of the quickstart, of the tools over stdio and of completion.
"""

import ctypes
import multiprocessing
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from multiprocessing import forkserver, util
from multiprocessing.context import ForkServerContext
from multiprocessing.reduction import DupFd
from pathlib import Path
from subprocess import TimeoutExpired
from typing import Any

_PR_SET_PDEATHSIG = 1
_PRELOADED = "tests.support.processes.preloaded"


@cache
def context() -> ForkServerContext:
    """Return the context of processes that are forked with everything imported."""
    made = multiprocessing.get_context("forkserver")
    made.set_forkserver_preload([_PRELOADED])
    # Threads of numerical libraries don't survive a fork.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    return made


class Shared:
    """A fork server for this process and its forks, which starts at the first request."""

    def __init__(self) -> None:
        context()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind("")
        self.listener.listen()
        self._alive, held = os.pipe()
        server: Any = forkserver._forkserver
        server._forkserver_address, server._forkserver_alive_fd = self.listener.getsockname(), held
        # It would check for a child of this process, and start another server.
        server.ensure_running = lambda: None

    @property
    def started(self) -> bool:
        return self.listener.fileno() < 0

    def start(self) -> None:
        """Start the server: the listener has a request."""
        files = [self.listener.fileno(), self._alive]
        code = f"from multiprocessing.forkserver import main; main(*{files}, {[_PRELOADED]}, sys_path={sys.path})"
        program = sys.executable.encode()
        util.spawnv_passfds(program, [program, b"-c", code.encode()], files)
        self.listener.close()

    def close(self) -> None:
        self.listener.close()
        os.close(self._alive)


class Forked:
    """A started command; used like a `subprocess.Popen`."""

    def __init__(
        self,
        words: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        stdin: int,
        out: int,
        err: int,
        before: Callable[[], object] | None = None,
    ) -> None:
        """`before`: a module-level function that the fork calls before its command begins."""
        streams = [DupFd(each) for each in (stdin, out, err)]
        self._process = context().Process(
            target=_main, args=([*words], dict(env), str(cwd), streams, before), name=" ".join(words)[:40], daemon=True
        )
        self._process.start()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit status, negative for a signal; None while it runs."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """Return the exit status; None while it runs."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end and return the exit status."""
        self._process.join(timeout)
        status = self._process.exitcode
        if status is None:
            raise TimeoutExpired(self._process.name, timeout or 0)
        return status

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def run(
    words: Sequence[str], *, env: Mapping[str, str], cwd: Path, stdin: bytes, timeout: float
) -> tuple[int, bytes, bytes]:
    """Run a command to its end; return exit status, standard output and standard error."""
    files = [os.memfd_create(name) for name in ("stdin", "stdout", "stderr")]
    try:
        os.write(files[0], stdin)
        os.lseek(files[0], 0, os.SEEK_SET)
        forked = Forked(words, env=env, cwd=cwd, stdin=files[0], out=files[1], err=files[2])
        try:
            status = forked.wait(timeout)
        except TimeoutExpired:
            forked.kill()
            raise
        return status, _written(files[1]), _written(files[2])
    finally:
        for each in files:
            os.close(each)


def end_with_parent() -> None:
    """Have this process killed when the process that forked it ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def leave_server() -> None:
    """Stop keeping alive the fork server that this process came from, so that a killed run leaves neither."""
    server: Any = forkserver._forkserver
    os.close(server._forkserver_alive_fd)
    server._forkserver_alive_fd = None


def _written(file: int) -> bytes:
    return os.pread(file, os.fstat(file).st_size, 0)


def _main(
    words: list[str], env: dict[str, str], cwd: str, streams: list[Any], before: Callable[[], object] | None
) -> None:
    """Run in the fork: become `openbrain WORDS`."""
    end_with_parent()
    leave_server()
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, stream in enumerate(streams):
        held = stream.detach()
        os.dup2(held, number)
        os.close(held)
    os.environ.clear()
    os.environ.update(env)
    sys.path[1:1] = [folder for folder in env.get("PYTHONPATH", "").split(os.pathsep) if folder]
    if "TZ" in env:
        time.tzset()
    os.chdir(cwd)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - as long as the process
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False, buffering=1)  # noqa: SIM115
    sys.argv = ["openbrain", *words]
    if before is not None:
        before()
    from openbrain_cli.main import main

    try:
        main()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
