"""A tick of a folder that no server manages, with a temporary database."""

import asyncio
import tempfile
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from openbrain.adapters.sql.schema.commands import upgrade
from openbrain.adapters.sql.store import store_url
from openbrain.contract.vault.pages import VaultFile, VaultPage
from openbrain.domain.errors import Conflict, NotFound
from openbrain.domain.ids import uuid7
from openbrain.ports.store.tenants import Workspace
from openbrain.ports.store.vault import TickJob
from openbrain.runtime.adapters import transcripts
from openbrain.runtime.container import Container
from openbrain.settings import Settings, Truth
from openbrain.vault.files.folder import Folder
from openbrain_cli.vault.feed_sync import sync
from openbrain_cli.vault.new_vault import with_vault
from openbrain_tick.app import ports_of
from openbrain_tick.tick import tick
from openbrain_tick.vaults import Vaults

WORKSPACE: Final = "folder"


async def tick_folder(
    root: Path, feed: Path | None, settings: Settings, *, ai: bool, dry_run: bool, extract: bool
) -> dict[str, Any]:
    """Run a tick and return its report. The vault's feed is copied to `feed`, if given. Raise `Conflict` for a vault
    that this machine's brain manages: its signals and memories are in that brain's database."""
    root = root.expanduser().absolute()
    if not root.is_dir():
        raise NotFound(f"there is no vault at {root}: make one with `openbrain vault init {root}`")
    if root.resolve() in {folder.resolve() for folder in with_vault(settings).vaults.folders.values()}:
        raise Conflict(f"{root} is managed by the brain of this machine: use `openbrain tick` without --vault")
    if feed is not None and not dry_run:  # refused before anything is written
        await sync(_FeedFolder(Folder(root)), feed.expanduser().absolute(), dry_run=True)
    with tempfile.TemporaryDirectory(prefix="openbrain-tick-") as state:
        own = settings.model_copy(
            update={
                "data_dir": Path(state),
                "truth": Truth(),
                "tick": settings.tick.model_copy(update={"projects_dir": transcripts(settings)}),
                "vaults": settings.vaults.model_copy(update={"folders": {WORKSPACE: root}}),
            }
        )
        await asyncio.to_thread(upgrade, store_url(own.truth.url, own.data_dir))
        async with Container(own, shared=True) as container:
            now = container.clock.now()
            await container.store.workspaces.create_workspace(Workspace(id=WORKSPACE, name=WORKSPACE, created_at=now))
            job = TickJob(
                id=uuid7(now),
                workspace_id=WORKSPACE,
                slot=None,
                actor="openbrain tick",
                ai=ai,
                dry_run=dry_run,
                extract=extract,
            )
            report = await tick(job, Vaults(own).of(WORKSPACE), ports_of(container))
    if feed is not None and not dry_run:
        await sync(_FeedFolder(Folder(root)), feed.expanduser().absolute())
    return report


class _FeedFolder:
    """The feed of a vault on this machine, with the interface of an API client."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    async def vault_files(self, path: str = "") -> AsyncGenerator[VaultFile, None]:
        for entry in self._folder.walk(path):
            modified_at = datetime.fromtimestamp(entry.mtime_ns / 1e9, UTC)
            yield VaultFile(path=entry.path, size=entry.size, modified_at=modified_at)

    async def vault_page(self, path: str) -> VaultPage:
        content = self._folder.read(path)
        digest = self._folder.digest(path) or ""
        at = datetime.fromtimestamp(0, UTC)
        return VaultPage(path=path, size=len(content.encode()), modified_at=at, content=content, sha256=digest)
