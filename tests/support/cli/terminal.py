"""The installed command `openbrain`, used as a person does."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from tests.support.processes import made_once
from tests.support.processes.forked import Forked, run
from tests.support.processes.short_pauses import shorten
from tests.support.waiting import PATIENCE_S

PROGRAM = Path(sys.executable).parent / "openbrain"


@dataclass(frozen=True)
class Done:
    """The result of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return orjson.loads(self.out)


@dataclass(frozen=True)
class Terminal:
    """A place to run commands: a home folder, a data folder and nothing else in the environment."""

    home: Path
    data: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def run(self, *words: str, stdin: str | bytes = "", environment: Mapping[str, str] | None = None) -> Done:
        """Run a command and wait for its end."""
        text = stdin if isinstance(stdin, bytes) else stdin.encode()
        env = self.env(environment or {})
        code, out, err = run(words, env=env, cwd=self.home, stdin=text, timeout=PATIENCE_S)
        return Done(code, out.decode(), err.decode())

    def env(self, more: Mapping[str, str]) -> dict[str, str]:
        own = {"PATH": os.environ["PATH"], "HOME": str(self.home), "OPENBRAIN_DATA_DIR": str(self.data)}
        own["KF_RULE_CACHE_DIR"] = os.environ["KF_RULE_CACHE_DIR"]
        return {**own, "LANG": "C.UTF-8", **self.environment, **more}


def wait_until(holds: Callable[[], bool]) -> None:
    """Poll until the condition holds."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.03)


@contextmanager
def up(terminal: Terminal, *, ends_itself: bool = False, copied: bool = True) -> Iterator[Terminal]:
    """Run `openbrain up` while the block runs; end it with Ctrl-C, unless the block ends it."""
    with starting(terminal, 0, ends_itself=ends_itself, copied=copied) as process:
        deadline = time.monotonic() + PATIENCE_S
        # The last line of advice is printed after the file with the address is written.
        while not (terminal.data / "url").exists() or b" connect " not in (terminal.home / "up.log").read_bytes():
            assert process.poll() is None, (terminal.home / "up.log").read_text()
            assert time.monotonic() < deadline, (terminal.home / "up.log").read_text()
            time.sleep(0.02)
        yield terminal


@contextmanager
def starting(terminal: Terminal, port: int, *, ends_itself: bool = False, copied: bool = True) -> Iterator[Forked]:
    """Start it on this port and yield before it answers. `copied`: see `made_once`."""
    environment = terminal.env(
        {
            # On a busy machine an answer may lack an index, which is correct but not what these tests check.
            "OPENBRAIN_RECALL__TUNING__INDEX_TIMEOUT_S": "60",
            # A stop may take as long as a read blocks.
            "OPENBRAIN_STREAMS__TUNING__POLL_S": "0.3",
        }
    )
    log = terminal.home / "up.log"
    with log.open("wb") as out, open(os.devnull, "rb") as nothing:  # noqa: PTH123 - no path of ours
        files = {"stdin": nothing.fileno(), "out": out.fileno(), "err": out.fileno()}
        before, words = made_once.shorten_and_copy if copied else shorten, ["up", "--port", str(port)]
        process = Forked(words, env=environment, cwd=terminal.home, before=before, **files)
    try:
        yield process
        if not ends_itself:
            process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0, log.read_text()
    finally:
        process.kill()
