"""Makes arcs from the command line, in a vault that a tick may be changing at the same time."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from openbrain.adapters.local.clock import SystemClock
from openbrain.runtime.container import Container
from openbrain.settings import Settings
from openbrain.usecases.vault_lock import vault_writer
from openbrain.vault.files.folder import Folder
from openbrain.vault.pages.index import Index
from openbrain.vault.pages.journal import apply, recover
from openbrain.vault.thresholds import Thresholds
from openbrain_tick.plan.arcs.cluster import cluster
from openbrain_tick.plan.extract import Session
from openbrain_tick.plan.plan import Plan, begin


async def clustered(root: Path, sessions: Sequence[Session], settings: Settings, *, dry_run: bool) -> Plan:
    """Make the plan and, unless it is a dry run, apply it. In a workspace's vault this takes the writer's lock, which
    needs the database."""
    folder = Folder(root, max_bytes=settings.vaults.tuning.file_kb * 1024)
    if dry_run:
        return await asyncio.to_thread(_planned, folder, sessions)
    workspace = next((name for name, path in settings.vaults.folders.items() if Folder(path).root == folder.root), "")
    async with AsyncExitStack() as stack:
        if workspace:
            container = await stack.enter_async_context(Container(settings, shared=True))
            await stack.enter_async_context(
                vault_writer(container.store.leases, workspace, wait_s=settings.vaults.tuning.wait_s)
            )
        return await asyncio.to_thread(_done, folder, sessions)


def _done(folder: Folder, sessions: Sequence[Session]) -> Plan:
    recover(folder)
    plan = _planned(folder, sessions)
    apply(folder, plan.changes())
    return plan


def _planned(folder: Folder, sessions: Sequence[Session]) -> Plan:
    plan = begin(Index().scan(folder), folder.read, SystemClock().now(), Thresholds())
    cluster(plan, sessions)
    return plan
