"""Memories that belong together, found around each page of a walk through the selection, never pair by pair.

A cluster is all that hangs together by links between two memories, whoever of it is met first; it is worked on where
the oldest of it is met, so that no memory is in two clusters of an operation.
"""

import asyncio
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from openbrain.domain.access.visibility import matcher
from openbrain.domain.memory import Memory
from openbrain.ports.lifecycle import Lifecycle, Selection
from openbrain.usecases.indexes.neighbours import Neighbours, Placed, place_of
from openbrain_housekeeper.handlers.lifecycle.job import Found

PAGE = 5
"""Memories of one step: their searches and neighbours are a short piece of work, and a step rests behind it."""
NEIGHBOURS: Final = 16
"""Looked at of each memory; of those that are linked with it, theirs too."""
MOST: Final = 1000
"""Memories of one cluster that are worked on together; of more, the next run takes what is left."""
REMEMBERED: Final = 4
"""Operations whose vectors are kept between preview and change."""
Linked = Callable[[Placed, Placed], bool]
"""Symmetric, by what the two say and are."""
AT_A_TIME = 10
"""Pairs compared before others of this process have their turn."""
Cosine = Callable[[Memory, Memory], float]
Links = Mapping[str, set[str]]


class Clusters:
    """Finds clusters, and remembers the vectors of those that it found last for who decides about them."""

    def __init__(self, lifecycle: Lifecycle, neighbours: Neighbours) -> None:
        self._lifecycle, self._neighbours = lifecycle, neighbours
        self._vectors: OrderedDict[str, Mapping[str, Placed]] = OrderedDict()

    async def find(self, operation_id: str, selection: Selection, cursor: Any, linked: Linked, least: float) -> Found:
        """Clusters whose oldest member is on the next page. `least`: minimum cosine of a link."""
        after = None if cursor is None else (int(cursor[0]), str(cursor[1]))
        page = [subject.memory for subject in await self._lifecycle.page(selection, PAGE, after)]
        found, links = await self._around(selection, page, linked, least)
        on_page = {memory.id for memory in page}
        clusters = [sorted(ids, key=lambda each: _age(found[each].memory)) for ids in connected_components(links)]
        groups = [cluster[:MOST] for cluster in clusters if cluster[0] in on_page]
        self._remember(operation_id, {each: found[each] for group in groups for each in group})
        last = page[-1] if len(page) == PAGE else None
        return Found(groups, len(page), None if last is None else [last.created_at, last.id])

    def members(self, operation_id: str, ids: Sequence[str]) -> Sequence[Memory]:
        """As they were found."""
        return [self._vectors[operation_id][each].memory for each in ids]

    def cosine(self, operation_id: str) -> Cosine:
        """Of two of a cluster, by what they said when it was found: 0 where one says something else by now, or where
        they have no place in common any more."""
        found = self._vectors.get(operation_id, {})

        def known(memory: Memory) -> Placed | None:
            placed = found.get(memory.id)
            return placed if placed is not None and placed.memory.content_hash == memory.content_hash else None

        def cosine(one: Memory, other: Memory) -> float:
            placed, another = known(one), known(other)
            if placed is None or another is None or place_of(one) != place_of(other):
                return 0.0
            return placed.cosine(another)

        return cosine

    def _remember(self, operation_id: str, found: Mapping[str, Placed]) -> None:
        self._vectors[operation_id] = found
        self._vectors.move_to_end(operation_id)
        while len(self._vectors) > REMEMBERED:
            self._vectors.popitem(last=False)

    async def _around(
        self, selection: Selection, page: Sequence[Memory], linked: Linked, least: float
    ) -> tuple[Mapping[str, Placed], Links]:
        """The page and all that hangs together with it."""
        condition, within = selection.condition(), _within(selection)
        found = dict(await self._neighbours.placed([memory for memory in page if within(memory)]))
        links: defaultdict[str, set[str]] = defaultdict(set)
        fresh = list(found.values())
        while fresh and len(found) < PAGE + MOST:
            new: dict[str, Placed] = {}
            pairs = await self._neighbours.near(fresh, condition, least, NEIGHBOURS)
            for number, (one, other) in enumerate(pairs):
                if number % AT_A_TIME == 0:
                    await asyncio.sleep(0)
                here, there = one.memory.id, other.memory.id
                if there not in links[here] and within(other.memory) and linked(one, other):
                    links[here].add(there)
                    links[there].add(here)
                    if there not in found:
                        new[there] = other
            found |= new
            fresh = list(new.values())
        return found, links


def _within(selection: Selection) -> Callable[[Memory], bool]:
    selected = matcher(selection.condition())

    def within(memory: Memory) -> bool:
        young = max(memory.created_at, memory.confirmed_at) > selection.made_by
        # Also by this operation: it changes no memory twice.
        changed_since = memory.updated_at > selection.at
        return not memory.ended and not young and not changed_since and selected(memory)

    return within


def _age(memory: Memory) -> tuple[int, str]:
    return memory.created_at, memory.id


def connected_components(links: Links) -> Iterable[Sequence[str]]:
    """Connected components of two or more, sorted ids."""
    seen: set[str] = set()
    for start in list(links):
        cluster, ahead = {start}, [start] if start not in seen else []
        while ahead:
            new = links[ahead.pop()] - cluster
            cluster |= new
            ahead += new
        if len(cluster) > 1:
            seen |= cluster
            yield sorted(cluster)
