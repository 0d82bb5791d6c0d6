"""The base of the text index and the vector index on Elasticsearch."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Generic

from openbrain.adapters.elasticsearch.generations import Generations
from openbrain.adapters.indexes.entry_marks import marks_of
from openbrain.adapters.indexes.revision_fence import Entry
from openbrain.domain.ids import BUCKETS
from openbrain.ports.index import Checked, EntryMarks, Scrubbed, Standing, Sum


class ElasticsearchIndex(Generic[Entry]):
    """An index whose generations are looked at, counted, cleaned and dropped."""

    def __init__(self, generations: Generations[Entry]) -> None:
        self._generations = generations

    async def read(self, name: str, ids: Sequence[str]) -> Mapping[str, Standing]:
        """The stored states of these ids."""
        return await self._generations.read(name, ids)

    async def sums(self, name: str, *, digests: bool = True) -> Mapping[int, Sum]:  # noqa: ARG002 - the port's
        """One aggregation."""
        return await self._generations.sums(name)

    def in_buckets(self, name: str, buckets: Collection[int]) -> AsyncIterator[Sequence[Standing]]:
        """Page by page."""
        return self._generations.in_buckets(name, buckets)

    def entry_marks(self, name: str) -> AsyncIterator[EntryMarks]:
        """Page by page."""
        return marks_of(self.in_buckets(name, range(BUCKETS)))

    async def highest(self, name: str) -> int:
        """One aggregation."""
        return await self._generations.highest(name)

    async def drop_tombstones(self, name: str, before: int) -> int:
        """Each only if it is still the tombstone that was found."""
        return await self._generations.drop_tombstones(name, before)

    async def scrub(self, name: str, parts: Sequence[str] | None = None) -> Scrubbed:
        """Merges away what was overwritten."""
        return await self._generations.scrub(name, parts)

    async def expose(self, name: str) -> None:
        """The alias stands for this one alone."""
        await self._generations.expose(name)

    async def drop(self, name: str) -> None:
        """Delete the index."""
        await self._generations.drop(name)

    async def check(self) -> Checked:
        """The server's version and state."""
        return await self._generations.check()

    async def close(self) -> None:
        """Close the connections."""
        await self._generations.close()
