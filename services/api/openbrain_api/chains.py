"""How long the chain behind a memory is. Parents never change, so each answer is kept."""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Mapping

from openbrain.memory import Memory
from openbrain.ports.truth import Reading

LONGEST = 50
_KEPT = 10_000


class Chains:
    """Counts of superseded predecessors."""

    def __init__(self, truth: Reading) -> None:
        self._truth = truth
        self._known: OrderedDict[str, int] = OrderedDict()

    async def depths(self, memories: Iterable[Memory]) -> Mapping[str, int]:
        """By id, at most 50; memories that supersede nothing are absent and cost nothing."""
        ids = [memory.id for memory in memories if memory.supersedes_id is not None]
        if not ids:
            return {}
        unknown = [memory_id for memory_id in ids if memory_id not in self._known]
        found = await asyncio.gather(*(self._truth.ancestry(memory_id, LONGEST) for memory_id in unknown))
        depths = dict(zip(unknown, (min(len(each.parents), LONGEST) for each in found), strict=True))
        depths |= {memory_id: self._known[memory_id] for memory_id in ids if memory_id not in depths}
        for memory_id, depth in depths.items():
            self._known[memory_id] = depth
            self._known.move_to_end(memory_id)
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return depths
