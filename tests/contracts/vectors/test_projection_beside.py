"""Writes to other generations than the serving one, and what must be visible when an entry is marked."""

import asyncio
from collections.abc import Mapping, Sequence

from openbrain.adapters.sql.store import SqlStore
from openbrain.ports.index import Tombstone, VectorEntry
from openbrain.ports.store.generations import Generation, IndexKind
from openbrain_indexer.handlers.vectors import project_vector
from tests.contracts.vectors.test_projection import MODEL, Accepting, Both, clock, embed, project, row_of, store, stored
from tests.support.waiting import PATIENCE_S

__all__ = ["clock", "project", "store"]


class Together(Accepting):
    """A vector index in which no write ends before `at_once` writes are in progress."""

    at_once = 3

    def __init__(self) -> None:
        super().__init__()
        self.all = asyncio.Barrier(self.at_once)

    async def write(
        self, name: str, entries: Sequence[VectorEntry | Tombstone], *, visible: bool = True
    ) -> Mapping[str, Exception]:
        await asyncio.wait_for(self.all.wait(), PATIENCE_S)
        if len(entries) == 1:
            return {entries[0].id: ValueError("the last part")}
        return await super().write(name, entries, visible=visible)


async def test_beside_what_serves_parts_are_written_together_and_nothing_is_marked(store: SqlStore) -> None:
    memories = [await stored(store, f"ship {number}") for number in range(7)]
    for memory in memories:
        await embed(store, memory, 1)
    beside = Generation(kind=IndexKind.VECTOR, name="beside", model=MODEL, dimensions=4, builder="", status="building")
    ids = [memory.id for memory in memories]
    index = Together()

    failed = await project_vector([*ids, ids[0]], store=store, index=index, generations=[beside])

    assert failed.keys() == {ids[6]}
    assert sorted(each.memory_id for each in index.written) == sorted(ids[:6])
    assert index.visible == {False}
    assert {(await row_of(store, memory)).vector_revision for memory in memories} == {0}


async def test_what_serves_is_visible_when_it_is_marked(store: SqlStore, project: Both) -> None:
    memory = await stored(store)
    await embed(store, memory, 1)
    index = Accepting()
    await project.vector(memory, index, "serving")
    assert index.visible == {True}
    assert (await row_of(store, memory)).vector_revision == memory.revision
