"""Token states and turns of a recall's candidates, each read once: of those that the text index finds, while the
question is being embedded.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from openbrain.domain.access.visibility import AllOf
from openbrain.ports.store.memories import Memories, Turn
from openbrain_api.recall.comparing.state_cache import StateCache, States


class CandidateReads:
    """Reads for one recall, and keeps what it has read."""

    def __init__(self, memories: Memories, state_cache: StateCache) -> None:
        self._memories, self._state_cache = memories, state_cache
        self._states: defaultdict[str, dict[str, Sequence[bytes]]] = defaultdict(dict)
        self._turns: defaultdict[AllOf, dict[str, Turn | None]] = defaultdict(dict)

    async def states(self, ids: Sequence[str], model: str) -> States:
        """The states made with this vector model; () for a memory without any."""
        known = self._states[model]
        missing = [memory_id for memory_id in ids if memory_id not in known]
        if missing:
            read = await self._state_cache.of_memories(missing, model)
            known |= {memory_id: read.get(memory_id, ()) for memory_id in missing}
        return {memory_id: known[memory_id] for memory_id in ids}

    async def turns(self, questions: Mapping[int, tuple[Sequence[str], AllOf]]) -> Mapping[int, Mapping[str, Turn]]:
        """By question: those of its memories that are turns within its condition."""
        wanted: defaultdict[AllOf, dict[str, None]] = defaultdict(dict)
        for ids, condition in questions.values():
            wanted[condition] |= dict.fromkeys(ids)
        for condition, all_ids in wanted.items():
            known = self._turns[condition]
            missing = [memory_id for memory_id in all_ids if memory_id not in known]
            if missing:
                read = await self._memories.turns(missing, condition)
                known |= {memory_id: read.get(memory_id) for memory_id in missing}
        return {number: _those_known(ids, self._turns[condition]) for number, (ids, condition) in questions.items()}


def _those_known(ids: Sequence[str], turns: Mapping[str, Turn | None]) -> Mapping[str, Turn]:
    return {memory_id: turn for memory_id in ids if (turn := turns[memory_id]) is not None}
