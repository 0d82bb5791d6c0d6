"""The servers of one worker: started for it alone, so that they may be killed; emptied for each seed."""

import asyncio
import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pymysql
import redis

from openbrain.adapters.local.clock import SystemClock
from openbrain.adapters.sql.schema.commands import upgrade
from openbrain.adapters.sql.store import open_store
from openbrain.domain.access.permissions import Permission
from openbrain.ports.store.tenants import Workspace
from openbrain.settings import Truth
from openbrain.usecases.auth import hash_secret, issue
from tests.faults.processes.fleet import Zygote
from tests.faults.striking.double import Double
from tests.servers.catalogue import server
from tests.servers.processes.process import ServerProcess

WORKSPACE = "default"
DISK_MB = 48
"""Size of the small disk for a stream server's file, if one can be mounted."""


@dataclass
class World:
    """`elasticsearch_url`: a server that may not be killed; '' if this worker has its own."""

    zygote: Zygote
    double: Double
    streams: dict[str, ServerProcess]
    mariadb: ServerProcess
    elasticsearch: ServerProcess | None
    elasticsearch_url: str
    folder: Path
    small_disk: bool
    ollama_url: str = ""
    _tables: list[str] = field(default_factory=list)

    @property
    def abilities(self) -> frozenset[str]:
        """Return which optional faults and forms these servers support."""
        found = {f"streams {name}" for name in self.streams}
        found |= {"elasticsearch kill"} if self.elasticsearch is not None else set()
        found |= {"full disk"} if self.small_disk else set()
        found |= {"ollama"} if self.ollama_url else set()
        found |= {"up"}
        return frozenset(found)

    def reset_streams(self, name: str) -> "redis.Redis":
        """Empty a stream server and configure it as an operator would; return a client."""
        process = self.streams[name]
        (process.data / "filler").unlink(missing_ok=True)
        process.resume()
        if not process.alive:
            process.start()
        link = redis.Redis.from_url(process.url, socket_timeout=5, protocol=2)
        for command in (("CLIENT", "UNPAUSE"), ("REPLICAOF", "NO", "ONE")):
            link.execute_command(*command)  # type: ignore[no-untyped-call]
        link.config_set("maxmemory", 0)
        link.flushall()
        return link

    async def reset_truth(self) -> str:
        """Empty the database and create a workspace; return the secret of its key."""
        self.mariadb.resume()
        if not self.mariadb.alive:
            await asyncio.to_thread(self.mariadb.start)
        await asyncio.to_thread(self._empty_tables)
        return await tenant(self.mariadb.url, self.folder)

    def _empty_tables(self) -> None:
        with contextlib.closing(self.sql()) as link, link.cursor() as cursor:
            # Transactions of killed services hold locks until the server notices that their connections are gone.
            cursor.execute(
                "SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND db IS NOT NULL"
            )
            for (other,) in cursor.fetchall():
                with contextlib.suppress(pymysql.MySQLError):
                    cursor.execute(f"KILL {other}")
            if not self._tables:
                upgrade(self.mariadb.url)
                cursor.execute("SHOW TABLES")
                self._tables = [name for (name,) in cursor.fetchall() if name != "alembic_version"]
            for name in self._tables:
                cursor.execute(f"DELETE FROM `{name}`")
            link.commit()

    def sql(self) -> Any:
        """Return a direct connection to the database, around every proxy."""
        return connection(self.mariadb.url)

    def reset_elasticsearch(self) -> str:
        """Make the server ready, if it is this worker's; return its URL."""
        if self.elasticsearch is None:
            return self.elasticsearch_url
        self.elasticsearch.resume()
        if not self.elasticsearch.alive:
            self.elasticsearch.start()
        return self.elasticsearch.url

    def drop_indexes(self, prefix: str) -> None:
        """Delete the indexes of one seed."""
        url = self.elasticsearch_url or (self.elasticsearch.url if self.elasticsearch else "")
        with httpx.Client(base_url=url, timeout=20) as http, contextlib.suppress(httpx.HTTPError):
            found = http.get(f"/{prefix}*/_alias").json()
            for name in found if isinstance(found, dict) else ():
                if str(name).startswith(prefix):
                    http.delete(f"/{name}")


async def tenant(url: str, folder: Path) -> str:
    """Create a workspace in an empty database; return the secret of its key."""
    clock = SystemClock()
    truth = open_store(Truth(url=url), folder, clock)
    try:
        await truth.workspaces.create_workspace(Workspace(id=WORKSPACE, name=WORKSPACE, created_at=clock.now()))
        key, secret = issue(
            workspace_id=WORKSPACE,
            name="faults",
            permissions=frozenset(Permission),
            now=clock.now(),
            act_as=("watcher",),
        )
        await truth.api_keys.create_key(key, hash_secret(secret))
    finally:
        await truth.close()
    return secret


def connection(url: str) -> Any:
    """Connect to a MariaDB by its URL."""
    parts = urlsplit(url)
    return pymysql.connect(
        host=parts.hostname or "",
        port=parts.port or 3306,
        user=parts.username or "",
        password=parts.password or "",
        database=parts.path.strip("/"),
        connect_timeout=5,
    )


@contextlib.contextmanager
def world(
    *,
    elasticsearch_url: str = "",
    ollama_url: str = "",
    stream_servers: tuple[str, ...] = ("redis", "valkey"),
    small_disk: bool = True,
) -> Iterator[World]:
    """Start the servers of a worker; end them afterwards. `small_disk`: put the stream servers' files on one, if it can
    be mounted."""
    with contextlib.ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="openbrain-faults-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        zygote = Zygote()
        stack.callback(zygote.close)
        double = Double()
        stack.callback(double.close)
        small_disk = small_disk and _can_mount(folder)
        streams = {name: stack.enter_context(_stream_server(name, small_disk=small_disk)) for name in stream_servers}
        mariadb = stack.enter_context(server("mariadb"))
        own = None if elasticsearch_url else stack.enter_context(server("elasticsearch"))
        yield World(zygote, double, streams, mariadb, own, elasticsearch_url, folder, small_disk, ollama_url)


def _can_mount(folder: Path) -> bool:
    if os.geteuid() != 0:
        return False
    place = folder / "disk"
    place.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", place], capture_output=True, check=False)
    if done.returncode == 0:
        subprocess.run(["umount", place], check=False)
    return done.returncode == 0


@contextlib.contextmanager
def _stream_server(name: str, *, small_disk: bool) -> Iterator[ServerProcess]:
    process = server(name)
    if not small_disk:
        with process:
            yield process
        return
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "tmpfs", process.data], check=True)
    try:
        # Otherwise the server could rewrite its append-only file during a run, which needs the space twice.
        before = process.recipe.command
        process.recipe = replace(
            process.recipe, command=lambda port, data: [*before(port, data), "--auto-aof-rewrite-percentage", "0"]
        )
        with process:
            try:
                yield process
            finally:
                process.kill()
                subprocess.run(["umount", "-l", process.data], check=False)
    finally:
        process.close()
