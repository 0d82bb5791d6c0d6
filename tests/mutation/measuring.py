"""Coverage inside each Python process of a measured run, and which test it belongs to.

`measure.py` puts this file among the packages of a copy, where a .pth file starts it; so it imports nothing of ours.
pytest and its workers load it as a plugin too. PYTEST_DONT_REWRITE: it is imported before.
"""

import os
import sys
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import coverage

BASE = Path(sys.prefix).parents[1]
"""Where the copy is."""
_NOW = BASE / "now"


def start() -> None:
    """What a test starts or forks belongs to that test, also where its environment is empty."""
    if coverage.Coverage.current():
        return  # Python reads the .pth files of a venv twice
    services = [f"{BASE}/tree/{service}/*" for service in ("shared", "services", "cli")]
    data, config = str(BASE / "data" / ".coverage"), str(BASE / "coverage.toml")
    coverage.Coverage(data_file=data, data_suffix=True, auto_data=True, config_file=config, include=services).start()
    _belong(os.getppid())
    os.register_at_fork(after_in_child=lambda: _belong(os.getppid()))
    process_class: Any = BaseProcess
    run_process = process_class.run

    def run(process: Any) -> None:
        """A command's process is the child of a fork server, and belongs to the test that asked for it."""
        _belong(process._parent_pid)
        run_process(process)

    process_class.run = run


def _belong(process: int) -> None:
    """Begin anew: of the functions that were running before the fork a tracer may have lost count."""
    if measured := coverage.Coverage.current():
        measured.stop()
        measured.start()
        measured.switch_context(_test(process))


def _test(process: int) -> str:
    """What the nearest pytest among its ancestors is running."""
    while process > 1:
        try:
            return (_NOW / str(process)).read_text(encoding="utf-8")
        except FileNotFoundError:
            stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
            process = int(stat.rpartition(")")[2].split()[1])
    return ""


def pytest_runtest_logstart(nodeid: str) -> None:
    _switch(nodeid)


def pytest_runtest_logfinish(nodeid: str) -> None:
    _switch("")


def _switch(test: str) -> None:
    (_NOW / str(os.getpid())).write_text(test, encoding="utf-8")
    if measured := coverage.Coverage.current():
        measured.switch_context(test)


def pytest_unconfigure() -> None:
    """pytest may end without more ado."""
    if measured := coverage.Coverage.current():
        measured.stop()
        measured.save()
