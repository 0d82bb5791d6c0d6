"""One writer per vault across hosts and services: a lease in the database, because several hosts may mount a vault's
disk."""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from openbrain.domain.errors import OpenBrainError, TryLater
from openbrain.domain.tasks import cancel
from openbrain.ports.store.operations import Leases

LEASE_S = 30.0


class VaultBusy(TryLater):
    """Another tick or request is writing to the vault."""

    code = "vault_busy"

    retry_after_s = 2.0

    def __init__(self) -> None:
        super().__init__("another tick or request is writing to the vault: wait 2 s, then retry")


@asynccontextmanager
async def vault_writer(
    leases: Leases,
    workspace_id: str,
    *,
    wait_s: float = 5.0,
    lease_s: float = LEASE_S,
    prolong_s: float = LEASE_S / 3,
    poll_s: float = 0.05,
) -> AsyncIterator[None]:
    """Exclude other writers of the workspace's vault. Raise `VaultBusy` if that fails within `wait_s`.

    Hold it only while writing. It is extended while held. A holder that loses it anyway (the database was unavailable
    for longer than `lease_s`) detects the changes of others by their hashes.
    """
    name, holder = f"vault.{workspace_id}", f"{uuid.uuid4()}"
    until = time.monotonic() + wait_s
    while not await leases.acquire(name, holder, lease_s):
        if time.monotonic() >= until:
            raise VaultBusy
        await asyncio.sleep(poll_s)
    prolonging = asyncio.create_task(_prolong(leases, name, holder, lease_s, prolong_s))
    try:
        yield
    finally:
        try:
            await cancel(prolonging)
        finally:  # although this task is cancelled again
            await asyncio.shield(leases.release(name, holder))


async def _prolong(leases: Leases, name: str, holder: str, lease_s: float, every_s: float) -> None:
    while True:
        await asyncio.sleep(every_s)
        with suppress(OpenBrainError):
            await leases.acquire(name, holder, lease_s)
