"""Projects rows of the database and the vectors of their passages into the vector index."""

from collections.abc import Iterable, Sequence

from openbrain.domain.ids import bucket, digest, point_id
from openbrain.domain.memory import Memory
from openbrain.ports.index import Tombstone, VectorEntry
from openbrain.ports.store.generations import Generation, IndexKind
from openbrain.ports.store.index_entries import PassageSet, Vectors
from openbrain.ports.store.store import Store
from openbrain_indexer.handlers.projection import Failures, Writable, fields, in_turns, project, tombstones, write_all


async def project_vector(
    memory_ids: Iterable[str], generations: Sequence[Generation], *, store: Store, index: Writable[VectorEntry]
) -> Failures:
    """Bring these vector generations up to date with the current rows of these memories.

    A row whose vectors are of an older revision is skipped: the event for its current vectors follows.
    """

    async def write(rows: Sequence[Memory]) -> tuple[Failures, Sequence[Memory]]:
        first: tuple[Failures, Sequence[Memory]] | None = None
        for model in dict.fromkeys(generation.model for generation in generations):
            entries, written = await _vector_entries(rows, model, store.vectors, index.builder)
            these = [generation for generation in generations if generation.model == model]
            failed = await write_all(index, these, entries) if entries else {}
            first = first or (_by_memory(entries, failed), written)
        return first or ({}, ())

    return await project(
        memory_ids, IndexKind.VECTOR, store=store, generations=generations, write=write, at_once=index.at_once
    )


async def _vector_entries(
    rows: Sequence[Memory], model: str, vectors: Vectors, builder: str
) -> tuple[list[VectorEntry | Tombstone], list[Memory]]:
    """Entries for this model's generations, and the rows that are completely covered by them."""
    alive = [row.id for row in rows if not row.ended and row.wants_vector]
    passages = await vectors.passages(alive, model) if alive else {}
    entries: list[VectorEntry | Tombstone] = []
    written: list[Memory] = []
    async for row in in_turns(rows):
        if row.ended:
            entries.extend(tombstones(row, first=0, end=max(1, row.passages_high)))
        elif (passage := passages.get(row.id)) is not None and passage.revision == row.revision:
            entries.extend(vector_entries(row, passage, builder))
        else:
            continue
        written.append(row)
    return entries, written


def vector_entries(memory: Memory, embedded: PassageSet, builder: str) -> list[VectorEntry | Tombstone]:
    """One point per passage, and a tombstone for each passage that an earlier revision may have had and this one
    lacks."""
    shared = fields(memory)
    entries: list[VectorEntry | Tombstone] = []
    for number, vector in enumerate(embedded.vectors):
        entry_id = point_id(memory.id, number)
        entries.append(
            VectorEntry(
                id=entry_id,
                memory_id=memory.id,
                revision=memory.revision,
                bucket=bucket(memory.id),
                digest=digest(memory.id, number, memory.revision, memory.updated_at, memory.content_hash, builder),
                fields=shared,
                vector=vector,
            )
        )
    entries.extend(tombstones(memory, first=len(embedded.vectors), end=memory.passages_high))
    return entries


def _by_memory(entries: Sequence[VectorEntry | Tombstone], failed: Failures) -> Failures:
    return {entry.memory_id: failed[entry.id] for entry in entries if entry.id in failed} if failed else {}
