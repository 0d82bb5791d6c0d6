"""One writer per vault, whichever host or service: a lease in the truth, for vaults lie on disks that many mount."""

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
    """Another writes into the vault: a tick, or a request."""

    code = "vault_busy"

    retry_after_s = 2.0

    def __init__(self) -> None:
        super().__init__("the vault is being written by another: wait 2 s, then do the same again")


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
    """Nobody else writes into the workspace's vault meanwhile. `VaultBusy` where that is not so within `wait_s`.

    Hold it for the writing only. It is prolonged while held; whoever loses it nevertheless (the truth was away for
    longer than `lease_s`) finds the other's changes by their hashes.
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
        await cancel(prolonging)
        await asyncio.shield(leases.release(name, holder))


async def _prolong(leases: Leases, name: str, holder: str, lease_s: float, every_s: float) -> None:
    while True:
        await asyncio.sleep(every_s)
        with suppress(OpenBrainError):
            await leases.acquire(name, holder, lease_s)
