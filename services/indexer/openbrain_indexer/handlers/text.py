"""Rows of the database projected into the full-text index."""

from collections.abc import Iterable, Sequence

from openbrain.domain.memory import Memory
from openbrain.ports.index import TextEntry, Tombstone
from openbrain.ports.store.generations import Generation, IndexKind
from openbrain.ports.store.store import Store
from openbrain_indexer.handlers.entries import text_entry, tombstones
from openbrain_indexer.handlers.projection import Failures, Writable, in_turns, project, write_all


async def project_text(
    memory_ids: Iterable[str], generations: Sequence[Generation], *, store: Store, index: Writable[TextEntry]
) -> Failures:
    """Make these text generations hold these memories as the truth has them now."""

    async def write(rows: Sequence[Memory]) -> tuple[Failures, Sequence[Memory]]:
        entries: list[TextEntry | Tombstone] = []
        async for row in in_turns(rows):
            if row.ended:
                entries.extend(tombstones(row, first=0, end=1))
            else:
                entries.append(text_entry(row, index.builder))
        return await write_all(index, generations, entries), rows

    return await project(
        memory_ids, IndexKind.TEXT, store=store, generations=generations, write=write, at_once=index.at_once
    )
