"""Coverage inside each Python process of a measured run, and the test that the process belongs to.

`measure.py` puts this file among the packages of a copy, where a .pth file starts it; so it imports nothing of ours.
pytest and its workers load it as a plugin too. PYTEST_DONT_REWRITE: it is imported before pytest could rewrite it.
"""

import os
import sys
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import coverage

BASE = Path(sys.prefix).parents[1]
"""The folder of the copy."""
_NOW = BASE / "now"


def start() -> None:
    """Start measuring. Processes that a test starts or forks count for that test, even if their environment is
    empty."""
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
        """A command's process is the child of a fork server, but belongs to the test that started it."""
        _belong(process._parent_pid)
        run_process(process)

    process_class.run = run


def _belong(process: int) -> None:
    """Restart the measurement after a fork: the tracer may have lost track of functions that were running before it."""
    if measured := coverage.Coverage.current():
        measured.stop()
        measured.start()
        measured.switch_context(_test(process))


def _test(process: int) -> str:
    """Return the test that the nearest pytest among the process's ancestors is running."""
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
    """Save the data now: pytest may end without running exit handlers."""
    if measured := coverage.Coverage.current():
        measured.stop()
        measured.save()
