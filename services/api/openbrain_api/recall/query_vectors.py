"""Vectors of recent queries."""

from array import array
from collections import OrderedDict

from openbrain.ports.embedder import Embedder


class QueryVectors:
    """Embeds each query once while it is among the last `size` of its model."""

    def __init__(self, embedder: Embedder, size: int) -> None:
        self._embedder = embedder
        self._size = size
        self._known: OrderedDict[tuple[str, str], array[float]] = OrderedDict()

    async def vector(self, query: str, model: str) -> "array[float]":
        """The unit vector of a query by the model with that identity key."""
        known = self._known.get((model, query))
        if known is not None:
            self._known.move_to_end((model, query))
            return known
        vector = await self._embedder.embed_query(query)
        if self._size:
            self._known[model, query] = vector
            if len(self._known) > self._size:
                self._known.popitem(last=False)
        return vector

    def forget_all(self) -> None:
        """Something was erased: a question may have quoted it."""
        self._known.clear()
