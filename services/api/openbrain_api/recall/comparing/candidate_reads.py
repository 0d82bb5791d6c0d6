"""What was read of a recall's candidates: each one's token states and turn are read once, of those that the text index
finds already while the question is being embedded.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from openbrain.domain.access.visibility import AllOf
from openbrain.ports.store.index_entries import Vectors
from openbrain.ports.store.memories import Memories, Turn

States = Mapping[str, Sequence[bytes]]
"""By memory id: the token states of its passages."""


class CandidateReads:
    """Reads for one recall; what is known is not read again."""

    def __init__(self, memories: Memories, vectors: Vectors) -> None:
        self._memories, self._vectors = memories, vectors
        self._states: defaultdict[str, dict[str, Sequence[bytes]]] = defaultdict(dict)
        self._turns: defaultdict[AllOf, dict[str, Turn | None]] = defaultdict(dict)

    async def states(self, ids: Sequence[str], model: str) -> States:
        """The states made with this vector model; () for a memory without any."""
        known = self._states[model]
        missing = [memory_id for memory_id in ids if memory_id not in known]
        if missing:
            known |= dict.fromkeys(missing, ())
            known |= await self._vectors.states(missing, model)
        return {memory_id: known[memory_id] for memory_id in ids}

    async def turns(self, questions: Mapping[int, tuple[Sequence[str], AllOf]]) -> Mapping[int, Mapping[str, Turn]]:
        """By question: those of its memories that are turns within its condition."""
        missing: defaultdict[AllOf, dict[str, Turn | None]] = defaultdict(dict)
        for ids, condition in questions.values():
            missing[condition] |= {memory_id: None for memory_id in ids if memory_id not in self._turns[condition]}
        for condition, unread in missing.items():
            if unread:
                self._turns[condition] |= unread | dict(await self._memories.turns(list(unread), condition))
        return {
            number: {memory_id: turn for memory_id in ids if (turn := self._turns[condition][memory_id]) is not None}
            for number, (ids, condition) in questions.items()
        }
