"""A block: partitions that are compared in memory, and the clusters found in them so far.

It is read page by page, compared tile by tile, then returned cluster by cluster. It is only a cache: a process without
it reads and compares the rows again.
"""

import asyncio
from collections import deque
from collections.abc import Iterator, Mapping, Sequence

from openbrain.domain.memory import Memory
from openbrain.ports.lifecycle import Partition, Place
from openbrain.usecases.indexes.neighbours import Placed
from openbrain_housekeeper.handlers.lifecycle.clustering.components import Components
from openbrain_housekeeper.handlers.lifecycle.clustering.near_rows import NearRows, Rows

PAIRS = 20
"""Maximum number of pairs per step, so that reading and comparing them is short."""
Cluster = tuple[Place, Sequence[int]]
"""Place of the oldest memory, and the row numbers of all by age."""


class Block:
    """The memories of the partitions `first` to `last`, all of one project and scope, by age. `model`: the one whose
    vectors are compared."""

    def __init__(self, first: Partition, last: Partition, model: str) -> None:
        self.first, self.last, self.model = first, last, model
        self.read = 0
        """The number of memories read."""
        self.read_to: Place | None = None
        self.whole, self.compared = False, False
        """Whether all memories were read, and all pairs compared."""
        self.steps = 0
        """Number of steps done: pages read, and batches of pairs compared."""
        self.linked = Components[int]()
        """Row numbers of memories that belong together."""
        self._rows = Rows()
        self._members: list[tuple[int, str, int]] = []
        self._partitions: dict[Partition, int] = {}
        self._tiles: Iterator[Sequence[NearRows]] | None = None
        self._near: deque[NearRows] = deque()
        self._clusters: Sequence[Cluster] | None = None

    def add(self, page: Sequence[Memory], placed: Mapping[str, Placed]) -> None:
        """Add a page. `placed`: its memories that take part in the comparison, with their vectors."""
        for memory in page:
            one = placed.get(memory.id)
            if one is not None:
                partition = Partition.of(memory)
                self._rows.add(one.vector, self._partitions.setdefault(partition, len(self._partitions)))
                self._members.append((memory.created_at, memory.id, memory.revision))
        self.read += len(page)
        if page:
            self.read_to = page[-1].created_at, page[-1].id

    async def next_pairs(self, least: float) -> Sequence[NearRows]:
        """The next pairs that are near each other and not linked yet, at most `PAIRS`."""
        if self._tiles is None:
            self._tiles = self._rows.tiles(least)
        if not self._near:
            # In a thread: a matrix product releases the GIL.
            near = await asyncio.to_thread(next, self._tiles, None)
            self.compared = near is None
            self._near.extend(near or ())
        pairs: list[NearRows] = []
        while self._near and len(pairs) < PAIRS:
            pair = self._near.popleft()
            if not self.linked.together(pair.one, pair.other):
                pairs.append(pair)
        return pairs

    def id_of(self, row: int) -> str:
        return self._members[row][1]

    def placed(self, row: int, memory: Memory) -> Placed | None:
        """The memory with its vector; None if it has changed since it was read."""
        return Placed(memory, self._rows.vector(row)) if memory.revision == self._members[row][2] else None

    def clusters(self, after: Place | None, limit: int) -> Sequence[Cluster]:
        """Clusters whose oldest memory comes after that place. Call it once all pairs are compared."""
        if self._clusters is None:
            self._clusters = [(self._members[rows[0]][:2], rows) for rows in self.linked.all()]
        return [cluster for cluster in self._clusters if after is None or cluster[0] > after][:limit]
