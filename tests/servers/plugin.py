"""The pytest plugin of the real servers: fixtures, and a summary of the tests skipped because a server is missing."""

import contextlib
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.servers import mariadb_server as mariadb
from tests.servers.availability import SERVERS, Missing, asked, required
from tests.servers.catalogue import available, server
from tests.servers.processes.keeper import Address, Keeper, ask, outer
from tests.servers.processes.process import Server, ServerProcess
from tests.servers.tools import bge_model

_KEEPER = pytest.StashKey[Keeper]()
_LEFT_OUT = "no server for this test: "

Starter = Callable[[str], ServerProcess]


def pytest_configure(config: pytest.Config) -> None:
    try:
        required()
    except ValueError as error:
        raise pytest.UsageError(str(error)) from error
    config.stash[_KEEPER] = Keeper()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Open the keeper's socket: workers are about to be forked and will ask this process for servers."""
    session.config.stash[_KEEPER].listen()


def pytest_unconfigure(config: pytest.Config) -> None:
    keeper = config.stash.get(_KEEPER, None)
    if keeper is not None:
        keeper.close()


def need(name: str) -> None:
    """Skip the test if the server or tool is missing, or fail it if the run requires the server."""
    asked.add(name)
    state = available(name)
    if not isinstance(state, Missing):
        return
    if name in required():
        pytest.fail(f"{name} is required for this run: {state.reason}", pytrace=False)
    pytest.skip(f"{_LEFT_OUT}{name}: {state.reason}")


def shared(config: pytest.Config, name: str) -> Server:
    """Return the run's shared server of this kind."""
    need(name)
    keeper = outer()
    return config.stash[_KEEPER].get(name) if keeper is None else ask(keeper, name)


def address(config: pytest.Config) -> Address:
    """The address of the run's keeper, from each of its processes."""
    return config.stash[_KEEPER].listen()


@pytest.fixture(scope="session")
def redis_server(pytestconfig: pytest.Config) -> Server:
    """The run's Redis. It is shared: use key and stream names that are unique to your test."""
    return shared(pytestconfig, "redis")


@pytest.fixture(scope="session")
def valkey_server(pytestconfig: pytest.Config) -> Server:
    """The run's Valkey. It is shared: use key and stream names that are unique to your test."""
    return shared(pytestconfig, "valkey")


@pytest.fixture(scope="session")
def mariadb_server(pytestconfig: pytest.Config) -> Server:
    """The run's MariaDB. It is shared: `mariadb_url` gives a database of your own."""
    return shared(pytestconfig, "mariadb")


@pytest.fixture(scope="session")
def elasticsearch_server(pytestconfig: pytest.Config) -> Server:
    """The run's Elasticsearch. It is shared: use index names that are unique to your test."""
    return shared(pytestconfig, "elasticsearch")


@pytest.fixture(scope="session")
def ollama_server(pytestconfig: pytest.Config) -> Server:
    """The run's Ollama with the model all-minilm."""
    return shared(pytestconfig, "ollama")


@pytest.fixture(scope="session")
def bge_weights() -> Path:
    """The weights file of bge-small-en-v1.5."""
    need("bge")
    return bge_model.WEIGHTS


@pytest.fixture
def mariadb_url(mariadb_server: Server) -> Iterator[str]:
    """The URL of an empty database that is dropped after the test."""
    name = f"{mariadb.DATABASE}_{uuid.uuid4().hex[:12]}"
    yield mariadb.create_database(mariadb_server, name)
    mariadb.drop_database(mariadb_server, name)


@pytest.fixture
def private_server() -> Iterator[Starter]:
    """Start servers of your own, to kill, pause and restart: `private_server("redis")`."""
    with contextlib.ExitStack() as stack:

        def start(name: str) -> ServerProcess:
            need(name)
            return stack.enter_context(server(name))

        yield start


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    keeper = config.stash.get(_KEEPER, None)
    left_out = _left_out(terminalreporter.stats.get("skipped", []))
    if keeper is None or not (left_out or keeper.used):
        return
    terminalreporter.section("real servers")
    if keeper.used:
        terminalreporter.line(f"used: {', '.join(keeper.used)}")
    for reason, count in sorted(left_out.items()):
        terminalreporter.line(f"LEFT OUT {count} for want of {reason}", yellow=True)
    if not left_out:
        idle = [name for name in SERVERS if name not in keeper.used]
        terminalreporter.line("nothing was left out" + (f"; nobody asked for {', '.join(idle)}" if idle else ""))


def _left_out(skipped: list[Any]) -> Counter[str]:
    """Count the skipped tests by reason."""
    texts = [str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr) for report in skipped]
    return Counter(text.partition(_LEFT_OUT)[2] for text in texts if _LEFT_OUT in text)
