"""The systems on which a rebuild is tried: every service a separate process on real servers, or one process with
everything."""

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import httpx
from redis.asyncio import Redis

from openbrain.adapters.local.clock import SystemClock
from openbrain.adapters.sql.store import open_store
from openbrain.domain.access.permissions import Permission
from openbrain.ports.store.tenants import Workspace
from openbrain.settings import Truth
from openbrain.usecases.auth import OPERATORS, hash_secret, issue
from tests.integration.conftest import Servers, environment, prepared
from tests.properties.rebuild.check import Elasticsearch, Folders, Standing
from tests.properties.rebuild.load import HOWS
from tests.properties.rebuild.model_double import MODELS
from tests.servers.catalogue import server
from tests.servers.places import free_port
from tests.support.cli.services import OPENBRAIN, Process, Services
from tests.support.cli.services import services as running_rooms

ROOMS = ("housekeeper", "ingest", "embedder", "indexer-text", "indexer-vector", "api")
LEASE_S = 10
NODE = "-Xms1500m -Xmx1500m -XX:TieredStopAtLevel=4"
"""Elasticsearch as in production: the tests' node is configured to start quickly."""


class Place(Protocol):
    """A whole running system."""

    servers: Servers
    url: str
    operator_key: str
    hows: Sequence[str]
    """The ways of writing."""
    alone: bool
    """True if it is one process, so that nothing answers while it is dead."""

    async def kill(self, names: Sequence[str]) -> None:
        """Kill these services, or the process that they run in, with kill -9; return when replacements are ready."""

    async def stopped(self) -> Standing:
        """Stop it as far as needed to read its indexes."""


@contextmanager
def model_double() -> Iterator[str]:
    """Run the model double; yield its URL."""
    port = free_port()
    command = [sys.executable, "-m", "tests.properties.rebuild.model_double", str(port)]
    process = subprocess.Popen(command, start_new_session=True)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def _settings(double: str, index_timeout: float) -> dict[str, str]:
    """Default times, except for the cost of a kill and what a verification waits for."""
    return {
        "OPENBRAIN_STREAMS__LEASE_S": str(LEASE_S),
        "OPENBRAIN_TEXT__TUNING__REFRESH_MS": "200",
        "OPENBRAIN_EMBEDDING__URL": double,
        "OPENBRAIN_EMBEDDING__MODEL": next(iter(MODELS)),
        "OPENBRAIN_HOUSEKEEPING__TUNING__LEASE_S": "5",
        "OPENBRAIN_HOUSEKEEPING__TUNING__GRACE_S": "20",
        "OPENBRAIN_SERVER__RATE_PER_MINUTE": "0",
        "OPENBRAIN_RECALL__TUNING__INDEX_TIMEOUT_S": str(index_timeout),
    }


@dataclass
class OnServers:
    """Redis, MariaDB, and Elasticsearch for text and vectors."""

    servers: Servers
    services: Services
    url: str
    operator_key: str
    http: httpx.AsyncClient
    hows: Sequence[str] = HOWS
    alone: bool = False

    async def kill(self, names: Sequence[str]) -> None:
        dead = [each for each in self.services.started if each.service in names and each.popen.poll() is None]
        for each in dead:
            each.kill()
        for each in [self.services.start(each.service) for each in dead]:
            await each.ready()

    async def stopped(self) -> Standing:
        return Elasticsearch(self.http)


@asynccontextmanager
async def on_servers(folder: Path, index_timeout: float) -> AsyncIterator[OnServers]:
    """Start separate servers."""
    os.environ.setdefault("ES_JAVA_OPTS", NODE)
    with ExitStack() as stack:
        run = {each: stack.enter_context(server(each)).server for each in ("redis", "mariadb", "elasticsearch")}
        double = stack.enter_context(model_double())
        values = environment(
            "rebuild",
            redis=run["redis"],
            mariadb_url=run["mariadb"].url,
            elasticsearch=run["elasticsearch"],
            ollama=run["redis"],  # not used: any server will do
        )
        streams = ("OPENBRAIN_STREAMS__URL", "OPENBRAIN_STREAMS__PREFIX")
        kept = {name: each for name, each in values.items() if name in streams or "_STREAMS__" not in name}
        servers = await prepared({**kept, **_settings(double, index_timeout)}, "rebuild", folder)
        services = stack.enter_context(running_rooms(servers.environment, folder, installed=True))
        async with httpx.AsyncClient(base_url=run["elasticsearch"].url, timeout=120) as http, AsyncExitStack() as later:
            later.push_async_callback(servers.redis.aclose)
            later.push_async_callback(servers.store.close)
            for service in ROOMS:
                services.start(service)
            await services.all_ready()
            api = next(each for each in services.started if each.service == "api")
            yield OnServers(servers, services, api.url, await _operators_key(servers), http)


async def _operators_key(servers: Servers) -> str:
    now = SystemClock().now()
    await servers.store.workspaces.create_workspace(Workspace(id=OPERATORS, name=OPERATORS, created_at=now))
    key, secret = issue(workspace_id=OPERATORS, name="operator", permissions=frozenset(Permission), now=now)
    await servers.store.api_keys.create_key(key, hash_secret(secret))
    return secret


@dataclass
class Alone:
    """`openbrain up`: SQLite, tantivy, qdrant-edge, and an embedded Valkey."""

    servers: Servers
    process: Process
    data: Path
    url: str
    operator_key: str
    hows: Sequence[str] = tuple(each for each in HOWS if each != "stream")
    """Its Valkey is private to the process."""
    alone: bool = True

    async def kill(self, names: Sequence[str]) -> None:
        if names:
            self.process.kill()
            self.process = _up(self.data, self.process.log.parent, self.process.port, self.servers.environment)
            await self.process.ready()

    async def stopped(self) -> Standing:
        self.process.stop()
        return Folders(self.data)


@asynccontextmanager
async def alone(folder: Path, index_timeout: float) -> AsyncIterator[Alone]:
    """Start it on a fresh data folder."""
    data = folder / "data"
    with model_double() as double:
        values = _settings(double, index_timeout)
        process = _up(data, folder, free_port(), values)
        made: Alone | None = None
        try:
            await process.ready()
            store = open_store(Truth(), data, SystemClock())
            key, operator = ((data / each).read_text(encoding="utf-8").split()[0] for each in ("key", "admin-key"))
            nobody: Any = Redis()  # never called
            made = Alone(Servers(values, store, nobody, "", key), process, data, process.url, operator)
            yield made
            await store.close()
        finally:
            process = made.process if made is not None else process
            if process.popen.poll() is None:
                process.stop()


def _up(data: Path, folder: Path, port: int, values: Mapping[str, str]) -> Process:
    log = folder / "up.log"
    with log.open("ab") as out:
        command = [str(OPENBRAIN), "up", "--data", str(data), "--port", str(port)]
        popen = subprocess.Popen(command, env={**os.environ, **values}, stdout=out, stderr=out, start_new_session=True)
    return Process("up", port, popen, log)
