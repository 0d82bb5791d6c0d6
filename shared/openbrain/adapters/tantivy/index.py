"""The text index of an installation without servers: a folder with one subfolder per generation."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from openbrain.adapters.indexes.generation_folders import remove_folder
from openbrain.adapters.tantivy import reconciliation
from openbrain.adapters.tantivy.documents import BUILDER
from openbrain.adapters.tantivy.generation import Generation
from openbrain.adapters.tantivy.group_commit import GroupCommit
from openbrain.adapters.tantivy.highlights import Marker
from openbrain.adapters.tantivy.names import hold_names
from openbrain.domain.access.visibility import AllOf
from openbrain.domain.errors import IndexMissing, TryLater
from openbrain.ports.index import (
    Checked,
    Count,
    EntryMarks,
    Failed,
    Found,
    Hit,
    Place,
    Scrubbed,
    Span,
    Standing,
    Sum,
    TextEntry,
    TextQuery,
    TextSearch,
    Tombstone,
)
from openbrain.usecases.background import GivesWay


@dataclass(frozen=True, slots=True)
class _Open:
    generation: Generation
    commits: GroupCommit


class TantivyText:
    """Serves one process; another process that prepares the same generation gets `SetupError`."""

    builder = BUILDER
    at_once = 1

    def __init__(self, path: Path, commit_ms: int, need_room: Callable[[int], None] = lambda _: None) -> None:
        """`path`: the folder of all generations, created with the first one. `commit_ms`: interval between commits in a
        flow of entries. `need_room` raises `TryLater` if the disk lacks room, or this many bytes."""
        self._need_room = need_room
        self._path = path
        self._gives_way = GivesWay()
        self._commit_s = commit_ms / 1000
        self._open: dict[str, _Open] = {}
        self._opening = threading.Lock()
        self._marker = Marker()

    async def prepare(self, name: str) -> None:
        """Create it if it is missing, and open it: only a prepared generation can be used."""
        await asyncio.to_thread(self._prepare, name)

    def _prepare(self, name: str) -> None:
        with self._opening:
            if name in self._open and self._open[name].generation.gone():
                self._close_one(self._open.pop(name))
            if name not in self._open:
                generation = Generation(self._path / name)
                self._open[name] = _Open(generation, GroupCommit(f"text-{name}", generation.write, self._commit_s))

    def _prepared(self, name: str) -> _Open:
        try:
            return self._open[name]
        except KeyError:
            if not (self._path / name).exists():
                raise IndexMissing(name) from None
            raise TryLater(f"text generation {name} is not open yet: its indexer opens it when it starts") from None

    async def write(self, name: str, entries: Sequence[TextEntry | Tombstone], *, visible: bool = True) -> Failed:  # noqa: ARG002 - the port's
        """Write the entries; return after the commit, when searches find them. Concurrent writers share a commit."""
        self._need_room(0)
        return await asyncio.wrap_future(self._prepared(name).commits.submit(entries))

    async def search(self, name: str, query: str, condition: AllOf, limit: int) -> Sequence[Hit]:
        """Return entries with any of the words."""
        return (await self.search_many(name, (TextSearch(query, condition, limit),)))[0]

    async def search_many(self, name: str, searches: Sequence[TextSearch]) -> Sequence[Sequence[Hit]]:
        """Run all searches in one thread, over one snapshot."""
        return await asyncio.to_thread(self._prepared(name).generation.search, searches)

    async def find(
        self,
        name: str,
        query: TextQuery,
        condition: AllOf,
        limit: int,
        after: Place | None = None,
        facets: Sequence[str] = (),
        values: int = 1,
    ) -> Found:
        """Return a page, its total and its facets."""
        find = self._prepared(name).generation.reader().find
        return await asyncio.to_thread(find, query, condition, limit, after, facets, values)

    async def counts(self, name: str, fields: Sequence[str], condition: AllOf, limit: int) -> Sequence[Count]:
        """Count with the dictionary of keywords; it visits every value that any workspace uses."""
        return await asyncio.to_thread(self._prepared(name).generation.reader().counts, fields, condition, limit)

    async def named(self, name: str, search: TextSearch) -> Sequence[str]:
        """Find memories by name keys, which only whole entries have, not passages."""
        generation = self._prepared(name).generation
        # Most indexes have no names: seeing that takes less time than a hand-off to a thread.
        return await asyncio.to_thread(generation.named, search) if generation.has_names() else ()

    async def hold_names(self, query: str, names: Sequence[Sequence[str]]) -> Sequence[bool]:
        """Uses the analysis of the index."""
        return await asyncio.to_thread(hold_names, query, names)

    async def marks(self, query: TextQuery, texts: Sequence[str]) -> Sequence[Sequence[Span]]:
        """Uses the analysis of the index."""
        return await asyncio.to_thread(self._marker.marks, query, texts)

    async def read(self, name: str, ids: Sequence[str]) -> Mapping[str, Standing]:
        """Return the stored states of these ids. `IndexMissing` if the files were removed; searches don't notice that
        and continue on the open files."""
        generation = self._prepared(name).generation
        if generation.gone():
            raise IndexMissing(name)
        return await asyncio.to_thread(generation.read, ids)

    async def sums(self, name: str, *, digests: bool = True) -> Mapping[int, Sum]:  # noqa: ARG002 - the port's
        """Sum up with one aggregation."""
        return await asyncio.to_thread(reconciliation.sums, self._prepared(name).generation.searcher())

    async def in_buckets(self, name: str, buckets: Collection[int]) -> AsyncIterator[Sequence[Standing]]:
        """Yield the entries of these buckets: one search for each part, over one snapshot."""
        parts = reconciliation.in_buckets(self._prepared(name).generation.searcher(), buckets)
        while (some := await asyncio.to_thread(next, parts, None)) is not None:
            if some:
                yield some
            await self._gives_way()

    async def entry_marks(self, name: str) -> AsyncIterator[EntryMarks]:
        """Yield the marks: one search for each part, over one snapshot."""
        parts = reconciliation.entry_marks(self._prepared(name).generation.searcher())
        while (some := await asyncio.to_thread(next, parts, None)) is not None:
            yield some
            await self._gives_way()

    async def highest(self, name: str) -> int:
        """Return the highest revision with one aggregation."""
        return await asyncio.to_thread(reconciliation.highest, self._prepared(name).generation.searcher())

    async def drop_tombstones(self, name: str, before: int) -> int:
        """Delete old tombstones in one commit."""
        self._need_room(0)
        return await asyncio.to_thread(self._prepared(name).generation.drop_tombstones, before)

    async def scrub(self, name: str, parts: Sequence[str] | None = None) -> Scrubbed:
        """`parts` are segments. Their tombstones are written again here; the caller must write the live entries
        again."""
        generation = self._prepared(name).generation
        unclean = await asyncio.to_thread(generation.unclean, parts)
        if unclean.tombstones:
            await self.write(name, unclean.tombstones)
            unclean = await asyncio.to_thread(generation.unclean, unclean.segments)
        return Scrubbed(details={"product": "tantivy"}, parts=unclean.segments, again=unclean.memories)

    async def expose(self, name: str) -> None:
        """Do nothing: no other reader can use it."""

    async def drop(self, name: str) -> None:
        """Close it and delete its folder."""
        await asyncio.to_thread(self._drop, name)

    def _drop(self, name: str) -> None:
        with self._opening:
            if (generation := self._open.pop(name, None)) is not None:
                self._close_one(generation)
            remove_folder(self._path / name)

    async def check(self) -> Checked:
        """Report the library's version."""
        return Checked("tantivy", version("tantivy"))

    async def close(self) -> None:
        """Write waiting batches, end the threads and release the locks."""
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        with self._opening:
            for item in self._open.values():
                self._close_one(item)
            self._open.clear()

    @staticmethod
    def _close_one(generation: _Open) -> None:
        generation.commits.close()
        generation.generation.close()
