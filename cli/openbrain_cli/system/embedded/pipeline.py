"""The pipeline of `openbrain up`: all in one process, on embedded parts. Only this module imports every service."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from starlette.applications import Starlette

from openbrain.adapters.local.data_folder import DataFolder, report_full_disk
from openbrain.adapters.local.lost_store import refuse_lost, set_aside
from openbrain.adapters.redis.embedded_valkey import EmbeddedValkey
from openbrain.adapters.sql.schema.commands import upgrade
from openbrain.adapters.sql.store import FILE, store_url
from openbrain.domain.errors import Conflict
from openbrain.observability.gc_tuning import long_running
from openbrain.ports.store.generations import Generation
from openbrain.runtime.adapters import EMBEDDED
from openbrain.runtime.container import Container
from openbrain.settings import Settings, Streams
from openbrain.streams.monitoring.endpoints import Watched
from openbrain.streams.operating.leases import end_leases
from openbrain.streams.redis.connection import connect, disconnect
from openbrain.usecases.auth import OPERATORS
from openbrain.usecases.indexes.index_writers import write_to_all
from openbrain_amygdala import app as amygdala
from openbrain_api import app as api
from openbrain_cli.operators.bootstrap_keys import WORKSPACE, bootstrap_key, ensure_workspace
from openbrain_cli.profile import ADMIN_KEY_FILE, KEY_FILE
from openbrain_cli.system.embedded.index_rebuild import rebuild_foreign
from openbrain_embedder import app as embedder
from openbrain_housekeeper import app as housekeeper
from openbrain_indexer import app as indexer
from openbrain_indexer.handlers.text import project_text
from openbrain_ingest import app as ingest
from openbrain_matcher import app as matcher
from openbrain_mcp.app import with_mcp
from openbrain_tick import app as tick


class Startable(Watched, Protocol):
    """A service, as the process that runs it sees it."""

    async def start(self) -> None: ...

    async def stop(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Running:
    """A started pipeline."""

    container: Container
    services: tuple[Startable, ...]
    key_file: Path

    def api(self) -> Starlette:
        """The REST API on these services, and the tools at /mcp."""
        return with_mcp(api.api(self.container, self.services), self.container.settings.server.origins)


@asynccontextmanager
async def running(
    settings: Settings, make_parts: Callable[[Settings], Container] | None = None, *, new: bool = False
) -> AsyncIterator[Running]:
    """Run every service except the API. They start in order and stop together; nothing acknowledged is lost.

    `make_parts` replaces parts, as benchmarks do with the embedder. If the embedded database is missing although its
    indexes exist, `new` starts with an empty one; without it, that raises `SetupError`.
    """
    async with AsyncExitStack() as stack:
        alone = settings.truth.url == settings.streams.url == EMBEDDED
        folder = stack.enter_context(DataFolder(settings.data_dir, leave=settings.vaults.folders.values()))
        if settings.truth.url == EMBEDDED:
            (set_aside if new else refuse_lost)(folder.path, folder.path / FILE)
        with report_full_disk(folder.path):
            if settings.streams.url == EMBEDDED:
                valkey = EmbeddedValkey(folder.path / "streams", settings.streams.maxmemory_mb)
                stack.push_async_callback(valkey.stop)
                streams = settings.streams.model_copy(update={"url": await valkey.start()})
                settings = settings.model_copy(update={"streams": streams})
                await _end_leases(streams)
            await asyncio.to_thread(upgrade, store_url(settings.truth.url, settings.data_dir))
        container = await stack.enter_async_context(
            make_parts(settings) if make_parts else Container(settings, shared=True)
        )
        if alone:  # no other process uses the database: its leases, too, are of a predecessor
            await container.store.leases.end_all()
        await _bootstrap_keys(container, folder.path)
        await rebuild_foreign(container)  # before anything continues an operation that it cancels
        services: tuple[Startable, ...] = (
            housekeeper.housekeeper(container, lambda ids: _project_text(container, ids)),
            ingest.service(container),
            indexer.text_service(container),
            embedder.service(container),
            indexer.vector_service(container),
            matcher.service(container),
            matcher.periodic_jobs(container),
            amygdala.service(container),
            amygdala.periodic_jobs(container),
            tick.service(container),
        )
        started: list[Startable] = []
        stack.push_async_callback(_stop, started)
        for service in services:
            started.append(service)
            await service.start()
        stack.enter_context(long_running())
        yield Running(container, services, folder.path / KEY_FILE)


async def _end_leases(streams: Streams) -> None:
    """After a crash, entries would otherwise wait for the leases of a process that no longer exists: the caller has the
    data folder's lock."""
    client = connect(streams)
    try:
        await end_leases(client, streams)
    finally:
        await disconnect(client)


async def _stop(services: Sequence[Startable]) -> None:
    """Stop all at once: each may wait for a blocking read and for its running handler."""
    ended = await asyncio.gather(*(service.stop() for service in services), return_exceptions=True)
    if errors := [item for item in ended if isinstance(item, BaseException)]:
        raise errors[0] if len(errors) == 1 else BaseExceptionGroup("several services did not stop cleanly", errors)


async def _project_text(container: Container, ids: Sequence[str]) -> None:
    async def project(generations: Sequence[Generation]) -> None:
        await project_text(ids, store=container.store, index=container.text, generations=generations)

    await write_to_all(container.text_writers, project)


async def _bootstrap_keys(container: Container, folder: Path) -> None:
    """On the first start, create the workspace `default` with a key for everything in it, and the operators' key."""
    for workspace, file in ((WORKSPACE, folder / KEY_FILE), (OPERATORS, folder / ADMIN_KEY_FILE)):
        try:
            if await ensure_workspace(container.store.workspaces, container.clock, workspace):
                file.unlink(missing_ok=True)  # a key of the deleted workspace no longer works
        except Conflict:
            continue  # it is being deleted: the next start creates it again
        if file.exists():
            continue
        secret = await bootstrap_key(container.store.api_keys, container.clock, workspace)
        unfinished = file.with_name(f".{file.name}")
        unfinished.unlink(missing_ok=True)
        written = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(written, "w", encoding="utf-8") as out:
            out.write(secret + "\n")
            out.flush()
            os.fsync(written)
        unfinished.replace(file)  # so that a full disk or a power loss leaves no file without a key
