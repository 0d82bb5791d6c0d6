"""The chain of a memory: its length, and the predecessor if the viewer may see it.

Parents never change, nor does their visibility, so the result is cached.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from openbrain.domain.access.visibility import Criteria, Viewer, matches, visible
from openbrain.domain.caches import Lru
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


@dataclass(frozen=True, slots=True)
class _Chain:
    depth: int
    parent: Memory | None
    """Without content, metadata and tags."""


class Chains:
    """Reads and caches chains of superseded memories."""

    def __init__(self, memories: Memories) -> None:
        self._memories = memories
        self._known: Lru[str, _Chain] = Lru(_KEPT)

    async def behind(self, memories: Iterable[Memory], *viewers: Viewer) -> Mapping[str, Behind]:
        """By id. Memories that supersede nothing are absent and cost no read. A parent is named only if all these
        viewers may see it, ended or not."""
        parents = {memory.id: memory.supersedes_id for memory in memories if memory.supersedes_id is not None}
        if not parents:
            return {}
        chains = {memory_id: self._known[memory_id] for memory_id in parents if memory_id in self._known}
        chains |= await self._read({child: parent for child, parent in parents.items() if child not in chains})
        for memory_id, chain in chains.items():
            if chain.parent is not None:  # a missing one may still arrive: an import may store a child first
                self._known[memory_id] = chain
        conditions = [visible(viewer, Criteria(), now=0) for viewer in viewers]
        return {
            memory_id: Behind(
                chain.depth,
                parents[memory_id]
                if chain.parent is not None and all(matches(condition, chain.parent) for condition in conditions)
                else None,
            )
            for memory_id, chain in chains.items()
        }

    async def _read(self, parents: Mapping[str, str]) -> dict[str, _Chain]:
        if not parents:
            return {}
        rows, ancestries = await asyncio.gather(
            self._memories.rows(list(set(parents.values()))),
            asyncio.gather(*(self._memories.ancestry(memory_id, LONGEST) for memory_id in parents)),
        )
        return {
            child: _Chain(min(len(above.parents), LONGEST), _bare(rows.get(parent)))
            for (child, parent), above in zip(parents.items(), ancestries, strict=True)
        }


async def visible_memory(memory_id: str, viewer: Viewer, memories: Memories) -> Memory | None:
    """The memory, ended or not, if the viewer may see it."""
    row = (await memories.rows((memory_id,))).get(memory_id)
    return row if row is not None and may_see(viewer, row) else None


def may_see(viewer: Viewer, memory: Memory) -> bool:
    """True if the viewer may see the memory, ended or not. With `now=0` nothing has expired."""
    return matches(visible(viewer, Criteria(), now=0), memory)


def _bare(row: Memory | None) -> Memory | None:
    return None if row is None else replace(row, content="", metadata={}, tags=())
