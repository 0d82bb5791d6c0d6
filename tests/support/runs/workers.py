"""The pytest plugin that runs the tests in several forks of one process: `-n 4`, or `-n auto` for three per core.

The tests are collected once. pytest-xdist starts each worker as a new process that imports and collects all tests: five
CPU seconds per worker, as much as thirty files of tests.

A worker asks for a file of tests when it has none, so that all workers finish at about the same time. If one dies, its
current test fails, and a new fork runs the rest of its file.
"""

import os
import warnings
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count, pairwise
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from traceback import format_exc
from typing import Any

import pytest

from tests.support.processes import forked

_FORKS = get_context("fork")
_A_CORE = 3
"""Workers per core: tests wait longer than they compute."""
_DEATHS_MAX = 10
_COMMANDS = pytest.StashKey[forked.Shared]()


@dataclass
class _Worker:
    """A fork, as seen by the process that distributes the tests."""

    name: str
    process: ForkProcess
    link: Connection
    tests: deque[int] = field(default_factory=deque)
    """The tests that it still has to run; the first one is running."""


def pytest_addoption(parser: pytest.Parser) -> None:
    # Spelled as in pytest-xdist; `addoption` refuses lower-case short options, which pytest reserves.
    group = parser.getgroup("workers")
    group._addoption("-n", "--workers", metavar="COUNT", default="1", help="forks that run tests; auto: three a core")


def workers(config: pytest.Config) -> int:
    """Return the number of forks that share the run."""
    asked: str = config.getoption("workers")
    try:
        count = _A_CORE * (os.cpu_count() or 1) if asked == "auto" else int(asked)
    except ValueError:
        raise pytest.UsageError(f"-n {asked}: give a number, or auto") from None
    return 1 if config.getoption("usepdb") else max(1, count)


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Start the commands' fork server while the tests are collected, if the whole suite is to run."""
    config = session.config
    # run_times counts a command's time as that of the worker that started it.
    alone = config.pluginmanager.hasplugin("tests.support.runs.run_times")
    if workers(config) < 2 or config.option.collectonly or alone:
        return
    config.stash[_COMMANDS] = commands = forked.Shared()
    asked = config.option.keyword or getattr(config.option, "lf", False)
    if config.args_source is pytest.Config.ArgsSource.TESTPATHS and not asked:
        commands.start()


def pytest_unconfigure(config: pytest.Config) -> None:
    if (commands := config.stash.get(_COMMANDS, None)) is not None:
        commands.close()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    config = session.config
    if workers(config) < 2 or config.option.collectonly or session.testsfailed:
        return None
    reporter = config.pluginmanager.getplugin("terminalreporter")
    if reporter is not None:
        reporter.showfspath = False  # results of several files are interleaved
    _Run(session).run()
    return True


class _Run:
    """The process that has collected the tests and distributes them."""

    def __init__(self, session: pytest.Session) -> None:
        self._session = session
        self._config = session.config
        self._workers: dict[Connection, _Worker] = {}
        self._files = deque(_by_file(session.items))
        self._names = map("w{}".format, count())
        self._deaths = 0
        self._commands = self._config.stash.get(_COMMANDS, None)
        # Create it before forking: each worker has a folder in it.
        self._config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]

    def run(self) -> None:
        try:
            for _ in range(min(workers(self._config), len(self._files))):
                self._fork()
            commands = self._commands
            while self._workers:
                asked = [commands.listener] if commands and not commands.started else []
                for each in wait([*self._workers, *asked]):
                    if isinstance(each, Connection):
                        self._hear(self._workers[each])
                    elif commands:
                        commands.start()
                if self._session.shouldfail:
                    raise self._session.Failed(self._session.shouldfail)
                if self._session.shouldstop:
                    raise self._session.Interrupted(self._session.shouldstop)
        finally:
            for worker in self._workers.values():
                worker.process.terminate()
                worker.process.join()

    def _fork(self) -> None:
        ours, theirs = _FORKS.Pipe()
        name = next(self._names)
        links = [worker.link for worker in self._workers.values()]
        process = _FORKS.Process(target=_work, args=(self._session, theirs, [ours, *links], name), name=name)
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
            process.start()  # another thread runs here: it answers for the servers and holds no lock at this point
        theirs.close()
        self._workers[ours] = _Worker(name, process, ours)

    def _hear(self, worker: _Worker) -> None:
        """Handle one message from a worker, or its end."""
        try:
            kind, told = worker.link.recv()
        except (EOFError, OSError):
            self._ended(worker)
            return
        if kind == "idle":
            worker.tests = self._files.popleft() if self._files else deque()
            worker.link.send(list(worker.tests))
        elif kind == "ran":
            worker.tests.popleft()
        elif kind == "report":
            self._report(self._config.hook.pytest_report_from_serializable(config=self._config, data=told))
        elif kind == "warning":
            text, category, file, line, when, nodeid, location = told
            message = warnings.WarningMessage(text, category, file, line)
            self._config.hook.pytest_warning_recorded.call_historic(
                kwargs={"warning_message": message, "when": when, "nodeid": nodeid, "location": location}
            )
        else:
            raise RuntimeError(f"a worker failed beside its tests:\n{told}")

    def _report(self, report: Any) -> None:
        self._config.hook.pytest_runtest_logreport(report=report)

    def _ended(self, worker: _Worker) -> None:
        del self._workers[worker.link]
        worker.process.join()
        if not worker.tests:
            return
        item = self._session.items[worker.tests.popleft()]
        why = f"worker {worker.name} ended with status {worker.process.exitcode} while it ran {item.nodeid}"
        failed = pytest.TestReport(item.nodeid, item.location, item.keywords, "failed", why, "call")
        self._report(failed)
        self._deaths += 1
        if self._deaths >= _DEATHS_MAX:
            raise self._session.Interrupted(f"{self._deaths} workers died")
        if worker.tests:
            self._files.appendleft(worker.tests)
        if self._files:
            self._fork()


def _by_file(items: Sequence[pytest.Item]) -> Iterable[deque[int]]:
    files: dict[str, deque[int]] = {}
    for number, item in enumerate(items):
        files.setdefault(item.nodeid.partition("::")[0], deque()).append(number)
    return files.values()


class _Sending:
    """In a fork: sends reports to the process that distributes the tests."""

    def __init__(self, link: Connection, config: pytest.Config) -> None:
        self._link, self._config = link, config
        self.begun = False
        """Until then pytest repeats the warnings of before to it, as to every new plugin."""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._link.send(("report", data))

    def pytest_warning_recorded(
        self, warning_message: warnings.WarningMessage, when: str, nodeid: str, location: Any
    ) -> None:
        if self.begun:
            told = (warning_message.category, warning_message.filename, warning_message.lineno)
            self._link.send(("warning", (str(warning_message.message), *told, when, nodeid, location)))


def _work(session: pytest.Session, link: Connection, others: Iterable[Connection], name: str) -> None:
    """In a fork: run the received tests until none is left."""
    forked.end_with_parent()
    for each in others:
        each.close()
    _settle(session.config, link, name)
    try:
        while tests := _asked(link):
            items = [session.items[number] for number in tests]
            # Tear down all but the session after each file: the next one is not known yet.
            for item, following in pairwise([*items, session]):
                session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                link.send(("ran", None))
        session._setupstate.teardown_exact(None)
    except BaseException:
        with suppress(OSError):
            link.send(("error", format_exc()))
        raise


def _asked(link: Connection) -> list[int]:
    link.send(("idle", None))
    tests: list[int] = link.recv()
    return tests


def _settle(config: pytest.Config, link: Connection, name: str) -> None:
    """Make sure that nothing opened before the fork is written to by two processes."""
    plugins = config.pluginmanager
    plugins.unregister(name="terminalreporter")
    sending = _Sending(link, config)
    plugins.register(sending, "sending")
    sending.begun = True
    capture: Any = plugins.getplugin("capturemanager")
    capture.stop_global_capturing()
    capture.start_global_capturing()
    capture.suspend_global_capture()
    factory: Any = config._tmp_path_factory  # type: ignore[attr-defined]
    factory._basetemp = factory.getbasetemp() / name
    factory._basetemp.mkdir(mode=0o700)
