"""Tests of the fork server's files that a forked command keeps open."""

import os
import sys
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

from tests.support.processes.forked import Forked
from tests.support.waiting import PATIENCE_S


def tell_open_files() -> None:
    sys.stdout.write(f"{_open_files()}\n")
    sys.stdout.flush()


def test_a_command_does_not_keep_its_fork_server_alive(tmp_path: Path) -> None:
    """Otherwise both would outlive a killed run: the server ends when no process holds its pipe."""
    with (tmp_path / "out").open("w+b") as out, Path(os.devnull).open("rb") as nothing:
        streams = {"stdin": nothing.fileno(), "out": out.fileno(), "err": out.fileno()}
        command = Forked(["--version"], env={}, cwd=tmp_path, **streams, before=tell_open_files)
        assert command.wait(PATIENCE_S) == 0
        out.seek(0)
        told = out.read().decode()

    server: Any = forkserver._forkserver
    held = str(Path(f"/proc/self/fd/{server._forkserver_alive_fd}").readlink())
    assert str(tmp_path / "out") in told
    assert held.startswith("pipe:[")
    assert held not in told


def _open_files() -> list[str]:
    found = []
    for each in Path("/proc/self/fd").iterdir():
        try:
            found.append(str(each.readlink()))
        except FileNotFoundError:  # the descriptor of the listing itself
            continue
    return found
