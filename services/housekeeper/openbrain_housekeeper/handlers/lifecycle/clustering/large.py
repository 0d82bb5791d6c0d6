"""Finds links in a partition that is too large for memory, by asking the vector index for neighbours."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from openbrain.domain.memory import Memory
from openbrain.ports.lifecycle import Selection
from openbrain.usecases.indexes.neighbours import Neighbours, Placed
from openbrain_housekeeper.handlers.lifecycle.clustering.components import Components

NEIGHBOURS: Final = 16
"""Neighbours searched for each memory, and for each memory newly linked with it."""
AT_A_TIME: Final = 3
"""Pairs compared before yielding to the event loop."""
Linked = Callable[[Placed, Placed], bool]
"""Whether two memories are linked; symmetric, and depends only on the two."""


async def linked_around(
    neighbours: Neighbours,
    selection: Selection,
    within: Callable[[Memory], bool],
    page: Sequence[Memory],
    linked: Linked,
    least: float,
    most: int,
) -> tuple[Mapping[str, Placed], Sequence[Sequence[str]]]:
    """The memories of the page and those connected with it, at most about `most` more; and the connected components of
    two or more, as sorted ids."""
    placed = dict(await neighbours.placed([memory for memory in page if within(memory)]))
    components = Components[str]()
    fresh = list(placed.values())
    while fresh and len(placed) < len(page) + most:
        new: dict[str, Placed] = {}
        pairs = await neighbours.near(fresh, selection.condition(), least, NEIGHBOURS)
        for number, (one, other) in enumerate(pairs):
            if number % AT_A_TIME == 0:
                await asyncio.sleep(0)
            here, there = one.memory.id, other.memory.id
            if not components.together(here, there) and within(other.memory) and linked(one, other):
                components.join(here, there)
                if there not in placed:
                    new[there] = other
        placed |= new
        fresh = list(new.values())
    return placed, components.all()
