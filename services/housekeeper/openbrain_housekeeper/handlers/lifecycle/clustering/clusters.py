"""Finds memories that belong together, partition by partition of the selection.

A cluster is a connected component of links between two memories, independent of where the walk begins; no memory is in
two clusters of an operation. Partitions are compared in memory, by matrix products. A partition too large for that is
walked by age, and the vector index is asked for the neighbours of each memory; its clusters are returned when the walk
reaches their oldest memory.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from openbrain.domain.access.visibility import matcher
from openbrain.domain.caches import Lru
from openbrain.domain.memory import Memory
from openbrain.ports.lifecycle import Lifecycle, Partition, Selection
from openbrain.usecases.indexes.neighbours import Neighbours, Placed, place_of
from openbrain_housekeeper.handlers.lifecycle.clustering.block import Block
from openbrain_housekeeper.handlers.lifecycle.clustering.cursor import Cursor
from openbrain_housekeeper.handlers.lifecycle.clustering.large import (
    AT_A_TIME,
    Linked,
    linked_around,
)
from openbrain_housekeeper.handlers.lifecycle.clustering.step_cache import StepCache
from openbrain_housekeeper.handlers.lifecycle.job import Found

BLOCK_BYTES = 32 * 1024 * 1024
"""Maximum size of the vectors that are compared in memory."""
READ = 100
"""Memories read per step."""
WALKED = 10
"""Memories of a large partition per step, so that searching and comparing their neighbours is short."""
CLUSTERS = 5
"""Maximum number of clusters returned per step."""
MOST: Final = 1000
"""Maximum number of memories of one cluster that are processed together; the next run takes the rest."""
REMEMBERED: Final = 4
"""Operations whose vectors are kept between preview and change."""
Cosine = Callable[[Memory, Memory], float]


class Clusters:
    """Finds clusters, and keeps the vectors of those found last for the decision about them."""

    def __init__(self, lifecycle: Lifecycle, neighbours: Neighbours, time: Callable[[], float]) -> None:
        self._lifecycle, self._neighbours = lifecycle, neighbours
        self._blocks: StepCache[Block] = StepCache(time)
        self._vectors: Lru[str, Mapping[str, Placed]] = Lru(REMEMBERED)

    async def find(self, operation_id: str, selection: Selection, cursor: Any, linked: Linked, least: float) -> Found:
        """Do one step; the clusters that it found, if any. `least`: minimum cosine of a link."""
        at = Cursor.of(cursor)
        if at.block is None:
            at = await self._next(selection, at.after)
        if at.block is None:
            self._blocks.drop(operation_id)
            return Found([], 0, None)
        if at.large:
            return await self._walked(operation_id, selection, at, at.block[0], linked, least)
        model = (await self._neighbours.serving()).model
        block = self._blocks.get(operation_id)
        # Vectors of two models can't be compared: if another model's index serves now, start the block again.
        if block is None or (block.first, block.last, block.model) != (*at.block, model):
            block = Block(*at.block, model)
            self._blocks.put(operation_id, block)
        while not block.compared and (block.steps <= at.steps or (block.whole and block.read < READ)):
            await (self._compare(block, selection, linked, least) if block.whole else self._read(block, selection))
            block.steps += 1
        seen = max(0, block.read - at.read)
        at = replace(at, steps=max(at.steps, block.steps), read=at.read + seen)
        return await self._given_out(operation_id, block, at, seen) if block.compared else Found([], seen, at.value())

    def members(self, operation_id: str, ids: Sequence[str]) -> Sequence[Memory]:
        """The memories of the clusters found last, as they were then."""
        vectors = self._vectors.get(operation_id) or {}
        return [vectors[item].memory for item in ids]

    def cosine(self, operation_id: str) -> Cosine:
        """The cosine of two memories of a cluster found last. 0 if the content of one has changed since then, or if
        they are no longer in the same place."""
        vectors = self._vectors.get(operation_id) or {}

        def known(memory: Memory) -> Placed | None:
            placed = vectors.get(memory.id)
            return placed if placed is not None and placed.memory.content_hash == memory.content_hash else None

        def cosine(one: Memory, other: Memory) -> float:
            placed, another = known(one), known(other)
            if placed is None or another is None or place_of(one) != place_of(other):
                return 0.0
            return placed.cosine(another)

        return cosine

    async def _next(self, selection: Selection, after: Partition | None) -> Cursor:
        """The partitions after those that are done, as many as fit into memory; none at the end."""
        counted = await self._lifecycle.partitions(selection, after)
        if not counted:
            return Cursor(after)
        room = most = BLOCK_BYTES // (4 * (await self._neighbours.serving()).dimensions)
        first, last = counted[0][0], counted[0][0]
        for partition, number in counted:
            room -= number
            if room < 0:
                break
            last = partition
        return Cursor(after, (first, last), large=counted[0][1] > most)

    async def _read(self, block: Block, selection: Selection) -> None:
        page = await self._lifecycle.members(selection, block.first, block.last, READ, block.read_to)
        within = _within(selection)
        block.add(page, await self._neighbours.placed([memory for memory in page if within(memory)]))
        block.whole = len(page) < READ

    async def _compare(self, block: Block, selection: Selection, linked: Linked, least: float) -> None:
        """Compare the next pairs, and link those that belong together."""
        pairs, within = await block.next_pairs(least), _within(selection)
        rows = await self._neighbours.rows(sorted({block.id_of(row) for pair in pairs for row in pair[:2]}))
        for number, pair in enumerate(pairs):
            if number % AT_A_TIME == 0:
                await asyncio.sleep(0)
            one, other = (_placed(block, row, rows) for row in pair[:2])
            if one is None or other is None or block.linked.together(pair.one, pair.other):
                continue
            if within(one.memory) and within(other.memory) and linked(one, other):
                block.linked.join(pair.one, pair.other)

    async def _given_out(self, operation_id: str, block: Block, at: Cursor, seen: int) -> Found:
        clusters = block.clusters(at.place, CLUSTERS)
        if not clusters:
            self._blocks.drop(operation_id)
            return Found([], seen, Cursor(after=block.last).value())
        chosen = [members[:MOST] for _, members in clusters]
        rows = await self._neighbours.rows([block.id_of(row) for members in chosen for row in members])
        placed = {row: _placed(block, row, rows) for members in chosen for row in members}
        groups = [[member.memory.id for row in members if (member := placed[row])] for members in chosen]
        self._vectors[operation_id] = {item.memory.id: item for item in placed.values() if item}
        return Found([group for group in groups if len(group) > 1], seen, replace(at, place=clusters[-1][0]).value())

    async def _walked(
        self, operation_id: str, selection: Selection, at: Cursor, partition: Partition, linked: Linked, least: float
    ) -> Found:
        """Clusters whose oldest memory is on the next page of a large partition."""
        page = await self._lifecycle.members(selection, partition, partition, WALKED, at.place)
        around = (selection, _within(selection), page, linked, least, MOST)
        placed, groups_of_ids = await linked_around(self._neighbours, *around)
        on_page = {memory.id for memory in page}
        clusters = [sorted(ids, key=lambda item: _age(placed[item].memory)) for ids in groups_of_ids]
        groups = [cluster[:MOST] for cluster in clusters if cluster[0] in on_page]
        self._vectors[operation_id] = {item: placed[item] for group in groups for item in group}
        ended = len(page) < WALKED
        at = Cursor(after=partition) if ended else replace(at, place=_age(page[-1]))
        return Found(groups, len(page), at.value())


def _placed(block: Block, row: int, memories: Mapping[str, Memory]) -> Placed | None:
    memory = memories.get(block.id_of(row))
    return block.placed(row, memory) if memory is not None else None


def _within(selection: Selection) -> Callable[[Memory], bool]:
    selected = matcher(selection.condition())

    def within(memory: Memory) -> bool:
        young = max(memory.created_at, memory.confirmed_at) > selection.made_by
        # Also excludes changes by this operation, so that it changes no memory twice.
        changed_since = memory.updated_at > selection.at
        return not memory.ended and not young and not changed_since and selected(memory)

    return within


def _age(memory: Memory) -> tuple[int, str]:
    return memory.created_at, memory.id
