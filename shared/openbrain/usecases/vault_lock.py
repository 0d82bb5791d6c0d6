"""One writer per vault: a lease in the database, because several hosts may mount a vault's disk, and a lock in the
folder, because commands write to it without that database."""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from openbrain.domain.errors import OpenBrainError, TryLater
from openbrain.domain.tasks import cancel, in_thread
from openbrain.ports.store.operations import Leases
from openbrain.vault.files.folder import Folder
from openbrain.vault.files.lock import FolderLock

LEASE_S = 30.0


class VaultBusy(TryLater):
    """Another tick or request is writing to the vault."""

    code = "vault_busy"

    retry_after_s = 2.0

    def __init__(self) -> None:
        super().__init__("another tick or request is writing to the vault: wait 2 s, then retry")


@asynccontextmanager
async def vault_writer(
    leases: Leases | None,
    workspace_id: str,
    folder: Folder,
    *,
    wait_s: float = 5.0,
    lease_s: float = LEASE_S,
    prolong_s: float = LEASE_S / 3,
    poll_s: float = 0.05,
) -> AsyncIterator[None]:
    """Exclude other writers of the workspace's vault, and of its folder. Raise `VaultBusy` if that fails within
    `wait_s`. `leases`: None for a folder that no workspace has.

    Hold it only while writing. It is extended while held. A holder that loses it anyway (the database was unavailable
    for longer than `lease_s`) detects the changes of others by their hashes.
    """
    until = time.monotonic() + wait_s
    if leases is None:
        async with _locked(folder, until, poll_s):
            yield
        return
    name, holder = f"vault.{workspace_id}", f"{uuid.uuid4()}"
    await _waited(lambda: leases.acquire(name, holder, lease_s), until, poll_s)
    prolonging = asyncio.create_task(_prolong(leases, name, holder, lease_s, prolong_s))
    try:
        async with _locked(folder, until, poll_s):
            yield
    finally:
        try:
            await cancel(prolonging)
        finally:  # although this task is cancelled again
            await asyncio.shield(leases.release(name, holder))


@asynccontextmanager
async def _locked(folder: Folder, until: float, poll_s: float) -> AsyncIterator[None]:
    lock = FolderLock(folder)
    try:
        await _waited(lambda: in_thread(lock.acquire), until, poll_s)
        yield
    finally:
        lock.release()


async def _waited(acquire: Callable[[], Awaitable[bool]], until: float, poll_s: float) -> None:
    while not await acquire():
        if time.monotonic() >= until:
            raise VaultBusy
        await asyncio.sleep(poll_s)


async def _prolong(leases: Leases, name: str, holder: str, lease_s: float, every_s: float) -> None:
    while True:
        await asyncio.sleep(every_s)
        with suppress(OpenBrainError):
            await leases.acquire(name, holder, lease_s)
