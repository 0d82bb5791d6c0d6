"""The chain of a memory: its length, and the predecessor if the viewer may see it.

Parents never change, so the length is cached. A parent's visibility may: it can be restored and then changed.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from openbrain.domain.access.visibility import Criteria, Viewer, matches, visible
from openbrain.domain.caches import Lru
from openbrain.domain.errors import Conflict
from openbrain.domain.memory import Memory
from openbrain.ports.store.memories import Memories

LONGEST = 50
_KEPT = 10_000


@dataclass(frozen=True, slots=True)
class Behind:
    """The memories that one memory supersedes."""

    depth: int = 0
    """The number of memories that it supersedes, at most 50."""
    parent: str | None = None
    """None also if the viewer may not see it."""


NOTHING = Behind()


class Chains:
    """Reads chains of superseded memories, and caches their lengths."""

    def __init__(self, memories: Memories) -> None:
        self._memories = memories
        self._depths: Lru[str, int] = Lru(_KEPT)

    async def behind(self, memories: Iterable[Memory], *viewers: Viewer) -> Mapping[str, Behind]:
        """By id. Memories that supersede nothing are absent and cost no read. A parent is named only if all these
        viewers may see it, ended or not."""
        parents = {memory.id: memory.supersedes_id for memory in memories if memory.supersedes_id is not None}
        if not parents:
            return {}
        depths = {memory_id: self._depths[memory_id] for memory_id in parents if memory_id in self._depths}
        rows, read = await asyncio.gather(
            self._memories.rows(list(set(parents.values()))),
            self._read([memory_id for memory_id in parents if memory_id not in depths]),
        )
        for memory_id, depth in read.items():
            if parents[memory_id] in rows:  # a missing one may still arrive: an import may store a child first
                self._depths[memory_id] = depth
        depths |= read
        conditions = [visible(viewer, Criteria(), now=0) for viewer in viewers]
        seen = {row.id for row in rows.values() if all(matches(condition, row) for condition in conditions)}
        return {child: Behind(depths[child], parent if parent in seen else None) for child, parent in parents.items()}

    async def _read(self, ids: list[str]) -> dict[str, int]:
        ancestries = await asyncio.gather(*(self._memories.ancestry(memory_id, LONGEST) for memory_id in ids))
        return {child: min(len(above.parents), LONGEST) for child, above in zip(ids, ancestries, strict=True)}


async def visible_memory(memory_id: str, viewer: Viewer, memories: Memories) -> Memory | None:
    """The memory, ended or not, if the viewer may see it."""
    row = (await memories.rows((memory_id,))).get(memory_id)
    return row if row is not None and may_see(viewer, row) else None


def require_visible(viewer: Viewer, memory: Memory) -> None:
    """Raise `Conflict` if a writer may not see the memory that its idempotency key stored earlier."""
    if not may_see(viewer, memory):
        raise Conflict("this idempotency key stored a memory that was moved since to where this key can't see it")


def may_see(viewer: Viewer, memory: Memory) -> bool:
    """True if the viewer may see the memory, ended or not. With `now=0` nothing has expired."""
    return matches(visible(viewer, Criteria(), now=0), memory)
