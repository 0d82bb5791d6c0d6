"""Memories near others: candidates from the vector index, their similarity from the vectors that the database keeps.

The index is asked within the place of each memory, so that nothing is ever compared across what different people may
see; what it answers is held against the rows.
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
"""Equal where two memories may be compared."""
_SLACK = 0.05
"""An index compares single passages, perhaps of rounded vectors."""


class Placed(NamedTuple):
    """A memory with the direction of all that it says."""

    memory: Memory
    vector: "array[float]"

    def cosine(self, other: "Placed") -> float:
        return float(sum(map(mul, self.vector, other.vector)))


Pair = tuple[Placed, Placed]


def place_of(memory: Memory) -> tuple[str, ...]:
    """Scope within which memories may be compared: org, project, type and audience."""
    return tuple(str(getattr(memory, name)) for name in PLACE)


class Neighbours:
    """Asks the index that serves."""

    def __init__(
        self, index: Callable[[], VectorIndex], generations: Generations, vectors: Vectors, memories: Memories
    ) -> None:
        self._index, self._generations, self._vectors, self._memories = index, generations, vectors, memories

    async def placed(self, memories: Sequence[Memory]) -> Mapping[str, Placed]:
        """Memories whose vectors are of their current text."""
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
        """The index that is asked, and whose vectors are compared."""
        generation = await self._generations.serving(IndexKind.VECTOR)
        if generation is None:
            raise TryLater("no vector index serves yet: start an indexer for vectors")
        return generation

    async def near(self, placed: Sequence[Placed], condition: Condition, least: float, limit: int) -> Sequence[Pair]:
        """Each with those within the condition that are of its place and may be at least so near."""
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
        # By the rows: an index may be behind.
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
