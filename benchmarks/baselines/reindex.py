"""Time of the indexes themselves: the engines' own clients write the same documents into new ones, in plain loops.

No stream, no fence, no comparison: only the work that no reindex can avoid.
"""

import asyncio
import sqlite3
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

from elasticsearch import Elasticsearch
from elasticsearch.helpers import bulk
from elasticsearch.serializer import OrjsonSerializer
from qdrant_edge import Point, UpdateOperation
from tantivy import Document, Index

from openbrain.adapters.qdrant_edge.shard import Shard, payload_of
from openbrain.adapters.qdrant_edge.vectors import SLICE
from openbrain.adapters.sql.store import FILE
from openbrain.adapters.tantivy.documents import FIELDS, english, values_of
from openbrain.domain.memory import Memory
from openbrain.ports.index import TextEntry, VectorEntry
from openbrain.ports.store.generations import Generation, IndexKind
from openbrain.ports.store.index_entries import Extent
from openbrain.runtime.container import Container
from openbrain_indexer.handlers.text import text_entry
from openbrain_indexer.handlers.vectors import vector_entries

BATCH = 512
"""Entries that a service handles at once."""


async def entries(container: Container, generation: Generation) -> AsyncIterator[list[Any]]:
    """Entries of the generation, batch by batch."""
    after = ""
    while listed := await container.store.expected_entries.list_extent(Extent(kind=generation.kind), after, BATCH):
        after = listed[-1].id
        rows = list((await container.store.memories.indexable([each.id for each in listed])).values())
        if generation.kind is IndexKind.TEXT:
            yield [text_entry(row, generation.builder) for row in rows]
        else:
            yield await _points(container, generation, rows)


async def _points(container: Container, generation: Generation, rows: Sequence[Memory]) -> list[Any]:
    found = await container.store.vectors.passages([row.id for row in rows], generation.model)
    return [each for row in rows for each in vector_entries(row, found[row.id], generation.builder)]


async def engine_seconds(container: Container, generation: Generation) -> float:
    """CPU seconds of this process: the bare driver reads rows, and the bare engine writes all into a new index."""
    seconds = 0.0
    read = _reader(container.settings.data_dir / FILE, generation)
    with tempfile.TemporaryDirectory(prefix="openbrain-bench-") as folder:
        write = (_text if generation.kind is IndexKind.TEXT else _vectors)(Path(folder), generation)
        async for some in entries(container, generation):
            given = [_given(each) for each in some]
            begun = time.process_time()
            read([each.memory_id for each in some])
            write(given)
            seconds += time.process_time() - begun
    return seconds


def _given(entry: TextEntry | VectorEntry) -> Any:
    return values_of(entry) if isinstance(entry, TextEntry) else (entry.id, entry.vector, payload_of(entry))


def _reader(path: Path, generation: Generation) -> Callable[[Sequence[str]], None]:
    store = sqlite3.connect(path)

    def read(ids: Sequence[str]) -> None:
        slots = ", ".join("?" * len(ids))
        store.execute(f"SELECT * FROM memories WHERE id IN ({slots})", ids).fetchall()
        if generation.kind is IndexKind.VECTOR:
            joined = "memory_passages JOIN embeddings USING (input_hash, model)"
            store.execute(f"SELECT vector FROM {joined} WHERE memory_id IN ({slots})", ids).fetchall()

    return read


def _text(folder: Path, _: Generation) -> Callable[[Sequence[Any]], None]:
    index = Index(FIELDS, str(folder))
    index.register_tokenizer("english", english())
    writer = index.writer(15_000_000, 1)

    def write(given: Sequence[Any]) -> None:
        for each in given:
            writer.add_document(Document.from_dict(each, FIELDS))
        writer.commit()
        index.reload()

    return write


def _vectors(folder: Path, generation: Generation) -> Callable[[Sequence[Any]], None]:
    shard: Any = Shard.make(folder / "vectors", generation.dimensions)._shard

    def write(given: Sequence[Any]) -> None:
        for start in range(0, len(given), SLICE):
            some = [Point(*each) for each in given[start : start + SLICE]]
            shard.update(UpdateOperation.upsert_points(some))

    return write


async def bulk_seconds(container: Container, generation: Generation, url: str) -> float:
    """Elapsed seconds: the client's bulk helper sends the same bodies to a new index with the same mapping."""
    name = f"{generation.name}-bare"
    if generation.kind is IndexKind.TEXT:
        await container.text.prepare(name)
    else:
        await container.vectors.prepare(name, generation.dimensions)
    index: Any = container.text if generation.kind is IndexKind.TEXT else container.vectors
    actions = [
        {
            "_index": name,
            "_id": each.id,
            "version": each.revision,
            "version_type": "external_gte",
            "_source": index._document(each),
        }
        async for some in entries(container, generation)
        for each in some
    ]
    try:
        return await asyncio.to_thread(_loaded, url, name, actions)
    finally:
        await index.drop(name)


def _loaded(url: str, name: str, actions: Sequence[Any]) -> float:
    with Elasticsearch(url, request_timeout=120, serializer=OrjsonSerializer()) as client:
        begun = time.perf_counter()
        bulk(client, actions, chunk_size=BATCH)
        client.indices.refresh(index=name)
        return time.perf_counter() - begun
