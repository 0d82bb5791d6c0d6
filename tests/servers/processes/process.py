"""One server: started, stopped, killed, paused and restarted on the same port with the same data."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.servers.places import free_port
from tests.support.waiting import PATIENCE_S

_GUARD = Path(__file__).with_name("guard.py")


class ServerError(RuntimeError):
    """A server didn't start, or can't do what was requested in its current state."""


@dataclass(frozen=True)
class Recipe:
    """How to run one kind of server. Each callable gets the port and the data folder."""

    name: str
    url: str
    command: Callable[[int, Path], list[str]]
    answers: Callable[[int], bool]
    prepare: Callable[[Path], None] = lambda _data: None
    environment: Callable[[int, Path], Mapping[str, str]] = lambda _port, _data: {}
    patience: float = PATIENCE_S


@dataclass(frozen=True)
class Server:
    """A running server as a test sees it."""

    name: str
    url: str
    port: int
    pid: int
    host: str = "127.0.0.1"


@dataclass
class ServerProcess:
    """Owns one server. `with` starts it and, at the end, kills it and removes its data."""

    recipe: Recipe
    port: int = field(default_factory=free_port)
    folder: Path = field(init=False)
    _guard: "subprocess.Popen[bytes] | None" = field(default=None, init=False)
    _pid: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        # The path must be short: MariaDB's socket is inside, and socket paths end at 107 characters.
        self.folder = Path(tempfile.mkdtemp(prefix=f"openbrain-{self.recipe.name}-"))
        self.data.mkdir()
        self.recipe.prepare(self.data)

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def log(self) -> Path:
        return self.folder / "server.log"

    @property
    def url(self) -> str:
        return self.recipe.url.format(port=self.port)

    @property
    def pid(self) -> int:
        """The server's own process id; 0 if it isn't running."""
        return self._pid if self.alive else 0

    @property
    def alive(self) -> bool:
        return self._guard is not None and self._guard.poll() is None

    @property
    def server(self) -> Server:
        return Server(self.recipe.name, self.url, self.port, self.pid)

    def start(self) -> Self:
        """Start the server and return once it answers."""
        if self.alive:
            raise ServerError(f"{self.recipe.name} runs already on port {self.port}")
        self._forget_guard()
        with self.log.open("ab") as log:
            self._guard = subprocess.Popen(
                [sys.executable, "-I", "-S", str(_GUARD), str(self.folder), *self.recipe.command(self.port, self.data)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
                env={**os.environ, **self.recipe.environment(self.port, self.data)},
            )
        assert self._guard.stdout is not None
        self._pid = int(self._guard.stdout.readline() or b"0")
        try:
            self._wait_for_answer()
        except BaseException:
            self.kill()
            raise
        return self

    def stop(self, patience: float = 20.0) -> None:
        """End it as an administrator would (SIGTERM); the data stays. Kill it if that takes too long."""
        self.resume()
        self._signal(signal.SIGTERM, group=False)
        self._wait_for_end(patience)
        self.kill()

    def kill(self) -> None:
        """Kill it (SIGKILL); the data stays as it is on disk."""
        self._signal(signal.SIGKILL)
        self._wait_for_end(PATIENCE_S)
        self._forget_guard()

    def pause(self) -> None:
        """Freeze it (SIGSTOP): connections stay open and nothing answers."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Continue it after `pause`."""
        self._signal(signal.SIGCONT)

    def restart(self) -> None:
        """Stop it cleanly and start it on the same port with the same data."""
        self.stop()
        self.start()

    def close(self) -> None:
        """Kill it and remove its data."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def tail(self, lines: int = 15) -> str:
        """Return the last lines of the server's log."""
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return "\n".join(text.splitlines()[-lines:])

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _signal(self, number: signal.Signals, *, group: bool = True) -> None:
        if self.alive and self._pid:
            with contextlib.suppress(ProcessLookupError):
                (os.killpg if group else os.kill)(self._pid, number)

    def _wait_for_answer(self) -> None:
        limit = time.monotonic() + self.recipe.patience
        while not self.recipe.answers(self.port):
            if not self.alive:
                raise self._failure("ended while it started")
            if time.monotonic() > limit:
                raise self._failure(f"didn't answer in {self.recipe.patience:.0f} s")
            time.sleep(0.02)

    def _failure(self, what: str) -> ServerError:
        return ServerError(f"{self.recipe.name} on port {self.port} {what}; its log ends:\n{self.tail()}")

    def _wait_for_end(self, patience: float) -> None:
        if self._guard is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._guard.wait(patience)

    def _forget_guard(self) -> None:
        guard, self._guard, self._pid = self._guard, None, 0
        for pipe in (guard.stdin, guard.stdout) if guard else ():
            if pipe is not None:
                pipe.close()
