"""Cache of the token states of recently compared memories: many questions have candidates in common."""

from collections.abc import Mapping, Sequence
from itertools import chain

from openbrain.domain.caches import LruBytes
from openbrain.ports.store.index_entries import Vectors

ENTRY_BYTES = 400
"""Memory of an entry in addition to its states: the key and Python's own bookkeeping."""
States = Mapping[str, Sequence[bytes]]
"""By memory id: the token states of its passages."""


class StateCache:
    """Keeps the token states of one vector model, by the hash of their model input, for which they never change. The
    list of a memory's inputs is read from the database each time, so a changed memory is never compared by its former
    text."""

    def __init__(self, vectors: Vectors, version: bytes, most_bytes: int) -> None:
        """`version`: the first bytes of states that can be compared; others are not kept."""
        self._vectors = vectors
        self._version = version
        self._known: LruBytes[str] = LruBytes(most_bytes, ENTRY_BYTES)
        self._model = ""
        self._cleared = 0
        """How often the cache was cleared."""

    async def of_memories(self, ids: Sequence[str], model: str) -> States:
        """The states made with this vector model; memories without any are absent."""
        if model != self._model:
            self.clear()
            self._model = model
        cleared = self._cleared
        inputs = await self._vectors.inputs(ids, model)
        wanted = dict.fromkeys(chain.from_iterable(inputs.values()))
        # Cleared meanwhile, the cache may hold the states of another model.
        states = self._known.recent(wanted) if cleared == self._cleared else {}
        if missing := [item for item in wanted if item not in states]:
            read = await self._vectors.states(missing, model)
            if cleared == self._cleared:  # else they may be of a memory that was erased meanwhile
                self._keep(read)
            states |= read
        return {
            memory_id: found
            for memory_id, some in inputs.items()
            if (found := [states[item] for item in some if item in states])
        }

    def clear(self) -> None:
        self._known.clear()
        self._cleared += 1

    def _keep(self, read: Mapping[str, bytes]) -> None:
        for item, states in read.items():
            if states.startswith(self._version):
                self._known.put(item, states)
