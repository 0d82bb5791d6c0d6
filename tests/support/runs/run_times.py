"""A pytest plugin that reports where a run's time goes: `make test ARGS="-p tests.support.runs.run_times"`.

It reports CPU seconds of the tests' own process and of those that it starts, next to wall-clock seconds: on a shared
machine only the CPU seconds are meaningful.
"""

import os
import time
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path, PurePath
from typing import Any

import pytest

_PHASES = ("setup", "call", "teardown")
_TICKS = os.sysconf("SC_CLK_TCK")
_MOST = 60
_BEGUN = time.monotonic()
_SCAN_AFTER_S = 0.02
"""A test that takes less has started no process."""
_PROPERTY = "times"
_OWN = pytest.StashKey[float]()
_STARTED = pytest.StashKey[float]()
_SLOW = pytest.StashKey[bool]()


def _processes() -> float:
    """Return the CPU seconds of all processes that this one has started, ended or not."""
    times = os.times()
    seconds: dict[int, int] = {}
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            pid = int(path.parent.name)
            parents[pid], seconds[pid] = int(fields[1]), sum(map(int, fields[11:15]))
    family, found = {os.getpid()}, 0
    while len(family) != found:
        found = len(family)
        family |= {pid for pid, parent in parents.items() if parent in family}
    ticks = sum(seconds[pid] for pid in family - {os.getpid()})
    return times.children_user + times.children_system + ticks / _TICKS


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Any:
    report = yield
    own = time.process_time()
    spent = own - item.config.stash.get(_OWN, own)
    item.config.stash[_SLOW] = item.config.stash.get(_SLOW, False) or call.duration > _SCAN_AFTER_S
    processes = 0.0
    if call.when == "teardown" and item.config.stash[_SLOW]:
        before = item.config.stash.get(_STARTED, 0.0)
        item.config.stash[_STARTED] = max(before, _processes())
        item.config.stash[_SLOW] = False
        processes = item.config.stash[_STARTED] - before
    report.user_properties.append((_PROPERTY, [spent, processes]))
    item.config.stash[_OWN] = time.process_time()
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    # Reports of failed collections and dead workers have no times.
    found = (report for reports in terminalreporter.stats.values() for report in reports)
    reports = [report for report in found if getattr(report, "when", None) in _PHASES]
    total, elapsed = sum(os.times()[:4]), time.monotonic() - _BEGUN
    terminalreporter.section(f"where the time went: {total:.1f} s of processor in all, {elapsed:.0f} elapsed")
    for title, depth in (("suite", 2), ("folder", 3), ("file", 9)):
        terminalreporter.line(f"    all  {title:52} tests   clock  set-up    call     end  processes")
        for line in _table(reports, depth):
            terminalreporter.line(line)


def _table(reports: Iterable[Any], depth: int) -> Iterable[str]:
    counts: defaultdict[str, int] = defaultdict(int)
    clock: defaultdict[str, float] = defaultdict(float)
    spent: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    for report in reports:
        name = "/".join(PurePath(report.nodeid.partition("::")[0]).parts[:depth])
        counts[name] += report.when == "call"
        clock[name] += report.duration
        # Reports of later phases repeat the properties of earlier ones.
        own, processes = [value for key, value in report.user_properties if key == _PROPERTY][-1]
        spent[name][report.when] += own
        spent[name]["processes"] += processes
    for name in sorted(spent, key=lambda each: -sum(spent[each].values()))[:_MOST]:
        cells = "  ".join(f"{spent[name][part]:6.1f}" for part in (*_PHASES, "processes"))
        yield f"{sum(spent[name].values()):7.1f}  {name:52} {counts[name]:5}  {clock[name]:6.1f}  {cells}"
