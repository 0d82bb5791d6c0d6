"""Links of memories of a partition that is too large for memory: the vector index is asked for neighbours."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from openbrain.domain.memory import Memory
from openbrain.ports.lifecycle import Selection
from openbrain.usecases.indexes.neighbours import Neighbours, Placed

NEIGHBOURS: Final = 16
"""Looked at of each memory; of those that are linked with it, theirs too."""
AT_A_TIME: Final = 3
"""Pairs compared before others of this process have their turn."""
Linked = Callable[[Placed, Placed], bool]
"""Symmetric, by what the two say and are."""
Links = Mapping[str, set[str]]


async def linked_around(
    neighbours: Neighbours,
    selection: Selection,
    within: Callable[[Memory], bool],
    page: Sequence[Memory],
    linked: Linked,
    least: float,
    most: int,
) -> tuple[Mapping[str, Placed], Links]:
    """The page and what hangs together with it, at most about `most` more."""
    placed = dict(await neighbours.placed([memory for memory in page if within(memory)]))
    links: defaultdict[str, set[str]] = defaultdict(set)
    fresh = list(placed.values())
    while fresh and len(placed) < len(page) + most:
        new: dict[str, Placed] = {}
        pairs = await neighbours.near(fresh, selection.condition(), least, NEIGHBOURS)
        for number, (one, other) in enumerate(pairs):
            if number % AT_A_TIME == 0:
                await asyncio.sleep(0)
            here, there = one.memory.id, other.memory.id
            if there not in links[here] and within(other.memory) and linked(one, other):
                links[here].add(there)
                links[there].add(here)
                if there not in placed:
                    new[there] = other
        placed |= new
        fresh = list(new.values())
    return placed, links


def connected_components(links: Links) -> Sequence[Sequence[str]]:
    """Connected components of two or more, sorted ids."""
    components: list[Sequence[str]] = []
    seen: set[str] = set()
    for start in list(links):
        cluster, ahead = {start}, [start] if start not in seen else []
        while ahead:
            new = links[ahead.pop()] - cluster
            cluster |= new
            ahead += new
        if len(cluster) > 1:
            seen |= cluster
            components.append(sorted(cluster))
    return components
