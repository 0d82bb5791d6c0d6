"""Coverage inside each Python process of a measured run, and which test it belongs to.

`measure.py` puts this file among the packages of a copy, where a .pth file starts it; so it imports nothing of ours.
pytest and its workers load it as a plugin too. PYTEST_DONT_REWRITE: it is imported before.
"""

import os
import sys
from pathlib import Path

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
    _belong()
    os.register_at_fork(after_in_child=_belong)


def _belong() -> None:
    if measured := coverage.Coverage.current():
        measured.switch_context(_test(os.getppid()))


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
