"""The pytest plugin that reports on a run: its ring, the tests left out and why, and its slowest tests."""

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from tests.servers.availability import asked
from tests.support.forms import LONG, RINGS_RUN, long_form
from tests.support.runs.rings import EMBEDDED, RINGS, chosen, ring_of, servers_of, shuffled, told

_LEFT_OUT = pytest.StashKey[Mapping[str, int]]()
_SLOWEST = 20
_REASON_AFTER_S = 20
"""A test that takes longer must give a reason: `@pytest.mark.slow("...")`."""


def pytest_addoption(parser: pytest.Parser) -> None:
    names = [ring.name for ring in RINGS]
    parser.addoption("--ring", choices=names, action="append", help="run the tests of this ring; may be repeated")
    parser.addoption("--long", action="store_true", help="run everything in its long form")
    parser.addoption("--shuffle", metavar="SEED", help="files, and the tests of each, in an order that this seed draws")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "servers(*names): needs these servers, though no fixture or parameter says so")
    config.addinivalue_line("markers", "each_server: depends on which stream server it is, and runs on both")
    config.addinivalue_line("markers", "long(proof): runs in the long form alone, and what proves it in the short one")
    config.addinivalue_line("markers", "slow(reason): takes more than 20 seconds, and why")
    # In the environment, for the workers and for the processes that they start.
    if config.getoption("long"):
        os.environ[LONG] = "1"
    os.environ[RINGS_RUN] = ",".join(config.getoption("ring") or ())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    taken, left_out = chosen(items, config.getoption("ring") or (), long=long_form())
    kept = set(taken)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    seed = config.getoption("shuffle")
    items[:] = taken if seed is None else shuffled(taken, seed)
    config.stash[_LEFT_OUT] = left_out


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    report = yield
    hidden = asked - EMBEDDED - servers_of(item)
    asked.clear()
    if hidden and ring_of(item) == "embedded":
        report.outcome = "failed"
        report.longrepr = f"needs {', '.join(sorted(hidden))}, and nothing says so: @pytest.mark.servers(...)"
    mark = item.get_closest_marker("slow")
    if mark is not None and report.when == "call":
        report.user_properties.append(("slow", mark.args[0]))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    reports = [report for found in terminalreporter.stats.values() for report in found if hasattr(report, "duration")]
    skipped = [_reason(report) for report in terminalreporter.stats.get("skipped", [])]
    terminalreporter.section(f"the slowest {_SLOWEST}, and what was left out")
    for line in [*_slowest(reports), *_skips(skipped), *told(config.stash.get(_LEFT_OUT, {}))]:
        terminalreporter.line(line)


def _slowest(reports: Iterable[Any]) -> Iterable[str]:
    seconds: defaultdict[str, float] = defaultdict(float)
    reasons: dict[str, str] = {}
    for report in reports:
        seconds[report.nodeid] += report.duration
        reasons.update((report.nodeid, text) for name, text in report.user_properties if name == "slow")
    slow = sorted((test for test in seconds if seconds[test] >= 1), key=lambda test: -seconds[test])
    for test in slow[:_SLOWEST]:
        took = seconds[test]
        why = reasons.get(test, "NO REASON GIVEN" if took > _REASON_AFTER_S else "")
        yield f"{took:7.1f} s  {test}{': ' if why else ''}{why}"


def _reason(report: Any) -> str:
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return str(text).removeprefix("Skipped: ")


def _skips(reasons: Iterable[str]) -> Iterable[str]:
    for reason, count in sorted(Counter(reasons).items()):
        if not reason.startswith("no server for this test"):  # the servers' plugin reports these
            yield f"skipped: {count}: {reason}"
