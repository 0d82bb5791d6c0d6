"""Similar memories: candidates from the vector index, similarity from the vectors stored in the database.

Searches are restricted to each memory's place (org, project, scope, audience, type), so memories with different
visibility are never compared. Results are verified against the rows.
"""

import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from operator import mul
from typing import NamedTuple

from openbrain.domain.access.visibility import AllOf, Condition, Equals
from openbrain.domain.errors import TryLater
from openbrain.domain.memory import Memory
from openbrain.ports.index import VectorIndex, VectorSearch
from openbrain.ports.store.generations import Generation, Generations, IndexKind
from openbrain.ports.store.index_entries import Vectors
from openbrain.ports.store.memories import Memories

PLACE = ("workspace_id", "org", "project", "memory_scope", "audience", "type")
"""Fields that must be equal for two memories to be compared."""
_SLACK = 0.05
"""Tolerance: an index compares single passages, possibly with quantised vectors."""


class Placed(NamedTuple):
    """A memory with the mean direction of its vectors."""

    memory: Memory
    vector: "array[float]"

    def cosine(self, other: "Placed") -> float:
        return float(sum(map(mul, self.vector, other.vector)))


Pair = tuple[Placed, Placed]


def place_of(memory: Memory) -> tuple[str, ...]:
    """Scope within which memories may be compared: org, project, type and audience."""
    return tuple(str(getattr(memory, name)) for name in PLACE)


class Neighbours:
    """Searches the serving index."""

    def __init__(
        self, index: Callable[[], VectorIndex], generations: Generations, vectors: Vectors, memories: Memories
    ) -> None:
        self._index, self._generations, self._vectors, self._memories = index, generations, vectors, memories

    async def placed(self, memories: Sequence[Memory]) -> Mapping[str, Placed]:
        """Return the memories whose vectors belong to their current revision."""
        generation = await self.serving()
        passages = await self._vectors.passages([memory.id for memory in memories], generation.model)
        return {
            memory.id: Placed(memory, _direction(passages[memory.id].vectors))
            for memory in memories
            if memory.id in passages and passages[memory.id].revision == memory.revision and passages[memory.id].vectors
        }

    async def rows(self, ids: Sequence[str]) -> Mapping[str, Memory]:
        return await self._memories.rows(ids)

    async def serving(self) -> Generation:
        """The generation that is searched and whose vectors are compared."""
        generation = await self._generations.serving(IndexKind.VECTOR)
        if generation is None:
            raise TryLater("no vector index serves yet: start an indexer for vectors")
        return generation

    async def near(self, placed: Sequence[Placed], condition: Condition, least: float, limit: int) -> Sequence[Pair]:
        """Return pairs of each memory and candidates of the same place that match the condition and may reach the
        similarity `least`."""
        if not placed:
            return ()
        generation = await self.serving()
        searches = [VectorSearch(item.vector, AllOf((*_place(item.memory), condition)), limit + 1) for item in placed]
        answers = await self._index().search_many(generation.name, searches)
        pairs = [
            (one, hit.memory_id)
            for one, hits in zip(placed, answers, strict=True)
            for hit in hits
            if hit.score >= least - _SLACK and hit.memory_id != one.memory.id
        ]
        rows = await self._memories.rows(sorted({other for _, other in pairs}))
        by_id = await self.placed(list(rows.values()))
        # Verify with the rows: an index may be outdated.
        near = ((one, by_id[other]) for one, other in pairs if other in by_id)
        return [(one, other) for one, other in near if place_of(one.memory) == place_of(other.memory)]


def _place(memory: Memory) -> Sequence[Condition]:
    return [Equals(name, value) for name, value in zip(PLACE, place_of(memory), strict=True)]


def _direction(vectors: Sequence["array[float]"]) -> "array[float]":
    if len(vectors) == 1:
        return vectors[0]
    whole = [math.fsum(numbers) for numbers in zip(*vectors, strict=True)]
    length = math.sqrt(math.fsum(number * number for number in whole)) or 1.0
    return array("f", (number / length for number in whole))
