"""Which memories stand for which markers of a vault."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultMemory:
    """One marker that became a memory."""

    arc: str
    """The arc's id; the path of a page that is no arc."""
    marker: str
    """What makes it the same marker of the arc, also when it is edited."""
    memory_id: str
    content_hash: str
    """Of its type and what it says."""


class VaultMemories(Protocol):
    """Kept by the tick alone, under the vault's lease or not: a row is repeated without harm."""

    async def vault_memories(self, workspace_id: str) -> Sequence[VaultMemory]:
        """All of them, in order of arc and marker."""

    async def record_vault_memories(
        self, workspace_id: str, put: Sequence[VaultMemory], drop: Collection[tuple[str, str]]
    ) -> None:
        """Rows of (arc, marker) removed, then others added or replaced."""

    async def vault_digest(self, workspace_id: str) -> str:
        """Of the markers up to which the memories were last brought; '' for never."""

    async def note_vault_digest(self, workspace_id: str, digest: str) -> None:
        """They stand for the markers with this digest."""

    async def memories_of_arcs(self, workspace_id: str, arcs: Collection[str]) -> Mapping[str, tuple[str, ...]]:
        """The ids of the memories made of each of these arcs; absent where there are none."""
