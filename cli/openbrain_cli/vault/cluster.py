"""Makes arcs from the command line, in a vault that a tick may be changing at the same time."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path

from openbrain.adapters.local.clock import SystemClock
from openbrain.adapters.sql.store import EMBEDDED, FILE
from openbrain.domain.errors import Conflict, TryLater
from openbrain.ports.store.operations import Leases
from openbrain.runtime.container import Container
from openbrain.settings import Settings
from openbrain.usecases.vault_lock import vault_writer
from openbrain.vault.files.folder import Folder
from openbrain.vault.pages.index import Index
from openbrain.vault.pages.journal import apply, recover
from openbrain.vault.thresholds import Thresholds
from openbrain_cli.vault.new_vault import with_vault
from openbrain_tick.apply.plan_and_write import TRIES
from openbrain_tick.plan.arcs.cluster import cluster
from openbrain_tick.plan.extract import Session
from openbrain_tick.plan.plan import Plan, begin


async def clustered(root: Path, sessions: Sequence[Session], settings: Settings, *, dry_run: bool) -> Plan:
    """Make the plan and, unless it is a dry run, apply it as the vault's only writer. In a workspace's vault this needs
    the database."""
    folder = Folder(root, max_bytes=settings.vaults.tuning.file_kb * 1024)
    if dry_run:
        return await asyncio.to_thread(_planned, folder, sessions)
    workspace = next((name for name, path in _vaults(settings).items() if Folder(path).root == folder.root), "")
    async with AsyncExitStack() as stack:
        leases: Leases | None = None
        if workspace:
            container = await stack.enter_async_context(Container(settings, shared=True))
            leases = container.store.leases
        await stack.enter_async_context(vault_writer(leases, workspace, folder, wait_s=settings.vaults.tuning.wait_s))
        return await asyncio.to_thread(_done, folder, sessions)


def _vaults(settings: Settings) -> Mapping[str, Path]:
    """The workspaces' vaults, with the default one of a brain on this machine if that has ever run."""
    has_run = settings.truth.url != EMBEDDED or (settings.data_dir / FILE).exists()
    return (with_vault(settings) if has_run else settings).vaults.folders


def _done(folder: Folder, sessions: Sequence[Session]) -> Plan:
    for _ in range(TRIES):
        recover(folder)
        plan = _planned(folder, sessions)
        with suppress(Conflict):  # somebody has edited a page since it was read
            apply(folder, plan.changes())
            return plan
    raise TryLater("pages of the vault change faster than they can be written: try again later")


def _planned(folder: Folder, sessions: Sequence[Session]) -> Plan:
    plan = begin(Index().scan(folder), folder.read, SystemClock().now(), Thresholds())
    cluster(plan, sessions)
    return plan
