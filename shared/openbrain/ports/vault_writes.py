"""What clients wrote into a vault, so that the same request again writes nothing."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultWrite:
    """One request. `done`: its file is known to be written; until then another attempt looks first."""

    workspace_id: str
    key: str
    """The caller's word for "this is the same again"; with the caller's own id before it."""
    content_hash: str
    """Of all that was asked for."""
    path: str
    at: int
    """When it was first asked for, microseconds."""
    expires_at: int
    done: bool = False


class VaultWrites(Protocol):
    """Called by who holds the vault's lease."""

    async def claim_vault_write(self, write: VaultWrite) -> VaultWrite:
        """Note it; where the key is known and has not expired, the one that stands. `Conflict` where it came with other
        content."""

    async def finish_vault_write(self, write: VaultWrite) -> None:
        """Its file is written."""
