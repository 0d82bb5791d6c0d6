"""POST /v1/brain/remember, one worker, compared with raw drivers that insert row, history and event into the same
database.

The API runs alone in its process (`openbrain run api`); indexes and embedder are configured but never used by a write.
The load comes from another process, on other cores if there are enough.
"""

import argparse
import contextlib
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.baselines import bare_writes
from benchmarks.support.http_load import Load, measure
from benchmarks.support.report import Report, Row
from benchmarks.support.texts import texts

NAME = "remember"
GOALS = {("SQLite", 1): 0.4, ("SQLite", 16): 0.6, ("MariaDB", 1): 0.35, ("MariaDB", 16): 0.4}
CLIENTS = (1, 16, 64)
TAIL = 10


def add_options(parser: argparse.ArgumentParser) -> None:
    """Sizes, repeats and databases."""
    parser.add_argument("--remember-seconds", type=float, default=3.0, help="approximate seconds of one measurement")
    parser.add_argument("--remember-repeats", type=int, default=3)
    parser.add_argument("--remember-databases", default="SQLite,MariaDB")


@dataclass(frozen=True, slots=True)
class Side:
    """A database with an API."""

    name: str
    url: str
    key: str
    database: str
    bare: Callable[[int, int, Callable[[int], str]], float]


def run(options: argparse.Namespace) -> Report:
    """Measure both sides alternately, at each concurrency."""
    rows: list[Row] = []
    for name in options.remember_databases.split(","):
        with side(name) as found:
            for clients in CLIENTS:
                rows += _compare(found, clients, options.remember_repeats, options.remember_seconds)
    return Report(NAME, tuple(rows), ("contents of about 200 characters; bare: row, history and event in one commit",))


def _compare(side: Side, clients: int, repeats: int, seconds: float) -> Iterator[Row]:
    # A number that no earlier run used, so that every content is new.
    fresh = itertools.count(time.time_ns())
    pool = texts(500)

    def content(number: int) -> str:
        return f"{next(fresh)} {pool[number % len(pool)]}"

    loads: list[Load] = []
    bare: list[float] = []
    guess = 200 * clients
    for _ in range(repeats):
        bare.append(side.bare(clients, guess, content))
        requests = int(bare[-1] * seconds)
        bodies = [json.dumps({"content": content(number), "type": "fact", "org": "acme"}) for number in range(requests)]
        loads.append(measure(f"{side.url}/v1/brain/remember", side.key, clients, requests, bodies))
        guess = requests
    if any(load.failed for load in loads):
        raise SystemExit(f"{sum(load.failed for load in loads)} writes failed")
    ratios = tuple(load.rate / rate for load, rate in zip(loads, bare, strict=True))
    what = f"{side.name}, {clients} client{'s' if clients > 1 else ''}"
    rates = tuple(load.rate for load in loads)
    yield Row(f"{what}: bare driver", "1/s", tuple(bare))
    yield Row(f"{what}: POST remember", "1/s", rates, "bare driver", ratios, GOALS.get((side.name, clients)))
    if clients == 16:
        tails = tuple(load.p99 / load.p50 for load in loads)
        yield Row(f"{what}: p99", "ms", tuple(load.p99 for load in loads), "p50", tails, TAIL, at_most=True)


@contextlib.contextmanager
def side(name: str) -> Iterator[Side]:
    """Run an API process on a new database."""
    from tests.servers.processes.running import running as servers

    needed = ["valkey"] if name == "SQLite" else ["valkey", "mariadb"]
    with tempfile.TemporaryDirectory(prefix="openbrain-bench-") as folder, servers(*needed) as started:
        if name == "SQLite":
            path = Path(folder) / "truth.sqlite3"
            database = f"sqlite+aiosqlite:///{path}"
            bare = _sqlite(path)
        else:
            database = _fresh_database(started["mariadb"])
            bare = _mariadb(database)
        key = _prepare(database, folder)
        with _api(database, started["valkey"].url) as url:
            yield Side(name, url, key, database, bare)


def _sqlite(path: Path) -> Callable[[int, int, Callable[[int], str]], float]:
    return lambda clients, requests, content: bare_writes.sqlite_rate(path, clients, requests, content)


def _mariadb(url: str) -> Callable[[int, int, Callable[[int], str]], float]:
    return lambda clients, requests, content: bare_writes.mariadb_rate(url, clients, requests, content)


def _fresh_database(process: object) -> str:
    from tests.servers.mariadb_server import create_database

    return create_database(process.server, f"openbrain_{uuid.uuid4().hex[:8]}")  # type: ignore[attr-defined]


def _prepare(database: str, folder: str) -> str:
    import asyncio

    from openbrain.adapters.local.clock import SystemClock
    from openbrain.adapters.sql.schema.commands import upgrade
    from openbrain.adapters.sql.store import open_store
    from openbrain.domain.access.permissions import Permission
    from openbrain.ports.store.tenants import Workspace
    from openbrain.settings import Truth
    from openbrain.usecases.auth import hash_secret, issue

    async def make() -> str:
        store = open_store(Truth(url=database), Path(folder), SystemClock())
        await store.workspaces.create_workspace(Workspace(id="default", name="default", created_at=0))
        now = SystemClock().now()
        key, secret = issue(workspace_id="default", name="bench", permissions=frozenset(Permission), now=now)
        await store.api_keys.create_key(key, hash_secret(secret))
        await store.close()
        return secret

    upgrade(database)
    return asyncio.run(make())


@contextlib.contextmanager
def _api(database: str, redis: str) -> Iterator[str]:
    from tests.servers.places import free_port

    port = free_port()
    environment = {
        "OPENBRAIN_STREAMS__URL": redis,
        "OPENBRAIN_TRUTH__URL": database,
        "OPENBRAIN_TEXT__URL": "http://127.0.0.1:9",
        "OPENBRAIN_VECTORS__URL": "http://127.0.0.1:9",
        "OPENBRAIN_EMBEDDING__URL": "http://127.0.0.1:9",
        "OPENBRAIN_LOGS__LEVEL": "WARNING",
        # Counted, but never refused.
        "OPENBRAIN_SERVER__RATE_PER_MINUTE": "10000000",
    }
    command = [str(Path(sys.executable).parent / "openbrain"), "run", "api", "--port", str(port)]
    process = subprocess.Popen(command, env=os.environ | environment)
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(url)
        yield url
    finally:
        process.terminate()
        process.wait(timeout=30)


def _wait(url: str) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{url}/live", timeout=2):
                return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.05)
    raise SystemExit("the API did not start")
