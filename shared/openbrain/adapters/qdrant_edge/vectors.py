"""Vectors inside the process: a full scan on qdrant-edge, for one process and up to some 500,000 passages."""

import asyncio
import time
from array import array
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import TypeVar

from qdrant_edge import Filter

from openbrain.adapters.indexes.entries import Passages, best_passages, same_dimensions, writable
from openbrain.adapters.indexes.generation_folders import DamagedError, remove_folder, set_aside_index
from openbrain.adapters.qdrant_edge.shard import BUILDER, MADE, Nearest, Shard, parts
from openbrain.adapters.qdrant_edge.terms import compiled
from openbrain.domain.access.visibility import NEVER, AllOf, AtLeast, Condition
from openbrain.domain.errors import IndexMissing, TryLater
from openbrain.domain.ids import BUCKETS
from openbrain.domain.tasks import chunks
from openbrain.ports.index import (
    Checked,
    EntryMarks,
    Failed,
    Hit,
    Scrubbed,
    Standing,
    Sum,
    Tombstone,
    VectorEntry,
    VectorSearch,
)
from openbrain.usecases.background import GivesWay

SLICE = 32
"""Points written before the event loop gets a turn: about 5 ms."""
TOGETHER = 8
"""Searches in the first batch before the event loop gets a turn: most of what larger batches gain, in the time of about
three single searches."""
TURN_S = 0.02
"""Seconds per batch: after a faster one, the next batch is twice as large."""
PAGE = 250
"""Points read before the event loop gets a turn: about 2 ms."""
TO_OPEN = 64 * 1024 * 1024
"""Bytes of disk that opening a shard may use: it replays its log, and on a file system in memory, reading holes
allocates them too (59 MB measured)."""
MANY = 500_000
"""From this many points on, a search blocks the event loop for too long."""
NeedRoom = Callable[[int], None]
T = TypeVar("T")


class QdrantEdgeVectors:
    """A folder of generations. The engine rejects late writes for each point, by revision."""

    builder = BUILDER
    at_once = 1

    def __init__(self, path: Path, need_room: NeedRoom = lambda _: None) -> None:
        """`need_room` raises `TryLater` if the disk lacks room, or this many bytes. It is called before every write:
        the engine writes to memory-mapped sparse files, and without room for them the system kills the process."""
        self._path = path
        self._need_room = need_room
        self._gives_way = GivesWay()
        self._open: dict[str, Shard] = {}

    async def prepare(self, name: str, dimensions: int) -> None:
        """Open or create the generation. `SetupError` if its dimensions differ or another process has it."""
        path = self._path / name
        if name in self._open and self._open[name].gone():
            self._open.pop(name).close()
        if name not in self._open and path.exists() and any(path.iterdir()):
            self._reopen(name)
        if name not in self._open:
            self._need_room(TO_OPEN)
            remove_folder(path)  # it is empty
            self._open[name] = Shard.make(path, dimensions)
        same_dimensions(dimensions, self._shard(name).dimensions, name)

    async def write(self, name: str, entries: Sequence[VectorEntry | Tombstone], *, visible: bool = True) -> Failed:  # noqa: ARG002 - the port's
        """Write the entries; on return they are in the log, which survives the process. The event loop gets turns
        between slices."""
        shard = self._shard(name)
        fit, failed = writable(entries, shard.dimensions)
        for _, same in groupby(fit, key=lambda entry: entry.revision):
            for some in chunks(list(same), SLICE):
                self._need_room(0)
                shard.upsert(some)
                await asyncio.sleep(0)
        return failed

    async def search(self, name: str, vector: "array[float]", condition: AllOf, limit: int) -> Sequence[Hit]:
        """Scan every passage that matches. Blocks the event loop meanwhile."""
        return (await self.search_many(name, (VectorSearch(vector, condition, limit),)))[0]

    async def search_many(
        self,
        name: str,
        searches: Sequence[VectorSearch],
        *,
        within_s: float | None = None,  # noqa: ARG002 - the port's
    ) -> Sequence[Sequence[Hit]]:
        """Run the searches in batches; the event loop gets turns in between."""
        shard = self._shard(name)
        for item in searches:
            same_dimensions(len(item.vector), shard.dimensions, name)
        filters = {condition: _filter(condition, shard) for condition in {search.condition for search in searches}}

        async def ask(wanted: Mapping[int, int]) -> Sequence[Passages]:
            nearest = [
                Nearest(searches[place].vector, filters[searches[place].condition], passages, searches[place].limit)
                for place, passages in wanted.items()
            ]
            return await _in_turns(shard, nearest)

        return await best_passages(ask, [search.limit for search in searches])

    async def read(self, name: str, ids: Sequence[str]) -> Mapping[str, Standing]:
        """Return the stored states of these ids. `IndexMissing` if the files were removed; searches don't notice that
        and continue on the open files."""
        if name in self._open and self._open[name].gone():
            raise IndexMissing(name)
        return self._shard(name).standing(list(dict.fromkeys(ids)))

    async def sums(self, name: str, *, digests: bool = True) -> Mapping[int, Sum]:  # noqa: ARG002 - the port's
        """Sum up all points, page by page."""
        points, summed, removed = [0] * BUCKETS, [0] * BUCKETS, [0] * BUCKETS
        async for marks in self._numbers(name, "mark"):
            for mark in marks:
                bucket, digest = parts(mark)
                points[bucket] += 1
                summed[bucket] += digest
                if not digest:
                    removed[bucket] += 1
        return {
            bucket: Sum(count - removed[bucket], summed[bucket], removed[bucket])
            for bucket, count in enumerate(points)
            if count
        }

    async def in_buckets(self, name: str, buckets: Collection[int]) -> AsyncIterator[Sequence[Standing]]:
        """Scan every point."""
        wanted = frozenset(buckets)
        async for some in self._pages(name, lambda shard, after: shard.in_buckets(wanted, after, PAGE)):
            if some:
                yield some

    def entry_marks(self, name: str) -> AsyncIterator[EntryMarks]:
        """Scan every point."""
        return self._pages(name, lambda shard, after: shard.entry_marks(after, PAGE))

    async def highest(self, name: str) -> int:
        """Scan every point."""
        return max([max(some, default=0) async for some in self._numbers(name, "revision")])

    async def drop_tombstones(self, name: str, before: int) -> int:
        """Remove old tombstones in one call."""
        self._need_room(0)
        return self._shard(name).drop_tombstones(before)

    async def left_vectors(self, name: str, *, clear: bool = False) -> int:  # noqa: ARG002 - the port's
        """Return 0: a tombstone replaces the whole point."""
        return 0

    def _numbers(self, name: str, field: str) -> AsyncIterator[list[int]]:
        return self._pages(name, lambda shard, after: shard.numbers(field, after, PAGE))

    async def _pages(self, name: str, page: Callable[[Shard, str | None], tuple[T, str | None]]) -> AsyncIterator[T]:
        """Yield every page of a shard; the event loop gets turns in between."""
        after = None
        while True:
            some, after = page(self._shard(name), after)
            yield some
            if after is None:
                return
            await self._gives_way()

    async def scrub(self, name: str, parts: Sequence[str] | None = None) -> Scrubbed:  # noqa: ARG002 - the port's
        """Report nothing left: the index holds no text, and names only as hashes."""
        return Scrubbed(details={"product": "qdrant-edge", "holds": "no text"})

    async def expose(self, name: str) -> None:
        """Do nothing: no other reader can use it."""

    async def drop(self, name: str) -> None:
        """Close it and delete its folder."""
        if (shard := self._open.pop(name, None)) is not None:
            shard.close()
        await asyncio.to_thread(remove_folder, self._path / name)

    async def check(self) -> Checked:
        """Report the engine's version, and generations with too many points as a problem."""
        problems = [
            f"generation {name} holds {shard.count()} points: a search blocks everything else, use a Qdrant server"
            for name, shard in self._open.items()
            if shard.count() > MANY
        ]
        return Checked("qdrant-edge", version("qdrant-edge-py"), tuple(problems))

    async def close(self) -> None:
        """Close every generation."""
        while self._open:
            shard = self._open.popitem()[1]
            try:
                self._need_room(0)
            except TryLater:
                shard.let_go()
            else:
                shard.close()

    def _shard(self, name: str) -> Shard:
        if name not in self._open and (self._path / name / MADE).exists():
            self._reopen(name)
        if name not in self._open:
            raise IndexMissing(name)
        return self._open[name]

    def _reopen(self, name: str) -> None:
        """Open an existing generation, or set it aside if it is damaged."""
        self._need_room(TO_OPEN)
        try:
            self._open[name] = Shard(self._path / name)
        except DamagedError as error:
            set_aside_index(self._path / name, f"the vector index {name} is damaged ({error})")


async def _in_turns(shard: Shard, queries: Sequence[Nearest]) -> list[Passages]:
    results: list[Passages] = []
    together = TOGETHER
    while len(results) < len(queries):
        if results:
            await asyncio.sleep(0)
        started = time.perf_counter()
        results += shard.nearest(queries[len(results) : len(results) + together])
        if time.perf_counter() - started < TURN_S:
            together *= 2
    return results


def _filter(condition: AllOf, shard: Shard) -> Filter:
    return compiled(AllOf(tuple(item for item in condition.conditions if not _holds_for_all(item, shard))))


def _holds_for_all(condition: Condition, shard: Shard) -> bool:
    """True if no entry expires before the bound. That is the usual case, and skipping the condition saves a third of a
    search."""
    return (
        isinstance(condition, AtLeast)
        and condition.field == "expires_at"
        and condition.value <= NEVER
        and not shard.any_expires_before(condition.value)
    )
