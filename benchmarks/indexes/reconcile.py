"""Comparison of every index with the store, without differences: its CPU time and memory in this process.

Rows and entries are written directly. Embedded: SQLite with tantivy and qdrant-edge. Servers: MariaDB with
Elasticsearch text and kNN.
"""

import argparse
import asyncio
import contextlib
import tempfile
import time
import uuid
from array import array
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, insert

from benchmarks.support.memory import peak_mb
from benchmarks.support.report import Report, Row
from openbrain.adapters.elasticsearch.text import ElasticsearchText
from openbrain.adapters.elasticsearch.vectors import ElasticsearchVectors
from openbrain.adapters.local.clock import SystemClock
from openbrain.adapters.qdrant_edge.vectors import QdrantEdgeVectors
from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.engine.opening import open_database
from openbrain.adapters.sql.schema.inserts import insert_rows
from openbrain.adapters.sql.schema.memory_rows import row_from_memory
from openbrain.adapters.sql.schema.tables import memories, memory_passages, metadata
from openbrain.adapters.sql.store import SqlStore
from openbrain.adapters.tantivy import TantivyText
from openbrain.domain.ids import content_hash, uuid7
from openbrain.domain.memory import Memory, MemoryType
from openbrain.ports.index import TextIndex, VectorIndex
from openbrain.ports.store.generations import Generation, GenerationStatus, IndexKind
from openbrain.ports.store.index_entries import PassageSet
from openbrain_housekeeper.reconciliation.comparison import ComparisonOptions
from openbrain_housekeeper.reconciliation.quiescent_since import QuiescentSince
from openbrain_housekeeper.reconciliation.verification import Indexes, Verification, Verifier
from openbrain_indexer.handlers.text import text_entry
from openbrain_indexer.handlers.vectors import vector_entries
from tests.servers import mariadb_server
from tests.servers.availability import Missing
from tests.servers.catalogue import available
from tests.servers.processes.running import running

NAME = "reconcile"
GOAL_S = {"embedded": 2.0, "servers": 10.0}
"""CPU seconds of this process, for 100,000 embedded memories and 1,000,000 on servers."""
FULL = {"embedded": 100_000, "servers": 1_000_000}
GOAL_MB = 64
"""Megabytes by which a comparison may raise the memory of the process."""
STEP = 1000
MODEL, DIMENSIONS = "bench", 8
_VECTOR = array("f", [1.0, *([0.0] * (DIMENSIONS - 1))])


def add_options(parser: argparse.ArgumentParser) -> None:
    """Sizes and repeats."""
    parser.add_argument("--reconcile-embedded", type=int, default=FULL["embedded"], help="memories; 0: skip")
    parser.add_argument("--reconcile-servers", type=int, default=200_000, help="memories; 0: skip")
    parser.add_argument("--reconcile-repeats", type=int, default=3)


@dataclass(frozen=True, slots=True)
class Side:
    """A store and both indexes."""

    name: str
    database: Database
    text: TextIndex
    vectors: VectorIndex


def run(options: argparse.Namespace) -> Report:
    """Fill, then compare repeatedly."""
    rows: list[Row] = []
    notes: list[str] = []
    if options.reconcile_embedded:
        rows += asyncio.run(_measured("embedded", options.reconcile_embedded, options.reconcile_repeats))
    if options.reconcile_servers:
        missing = [name for name in ("mariadb", "elasticsearch") if isinstance(available(name), Missing)]
        if missing:
            notes.append(f"servers left out: no {', '.join(missing)}")
        else:
            rows += asyncio.run(_measured("servers", options.reconcile_servers, options.reconcile_repeats))
    notes.append("goals are of 100,000 memories embedded and 1,000,000 on servers; another size is held to its share")
    return Report(NAME, tuple(rows), tuple(notes))


async def _measured(name: str, count: int, repeats: int) -> list[Row]:
    async with opened(name) as side:
        store = SqlStore(side.database, SystemClock())
        generations = await begin(side, store)
        await fill(side, generations, count)
        seconds, megabytes = [], []
        for _ in range(repeats):
            before, begun = peak_mb(), time.process_time()
            report = await compared(side, store)
            seconds.append(time.process_time() - begun)
            megabytes.append(peak_mb() - before)
        if not report["equal"] or [each["rows"] for each in report["indexes"]] != [count, count]:
            raise SystemExit(f"the indexes should be equal: {report}")
    goal = GOAL_S[name] * count / FULL[name]
    return [
        Row(f"{name}, {count:,} memories, nothing differs: our CPU", "s", tuple(seconds), goal=goal, at_most=True),
        Row(f"{name}: memory beyond what was in use", "MB", tuple(megabytes), goal=GOAL_MB, at_most=True),
    ]


async def compared(side: Side, store: SqlStore, *, full: bool = False) -> Mapping[str, Any]:
    """The result of one comparison of both indexes."""

    async def nothing() -> None:
        return None

    clock = SystemClock()
    quiescent = QuiescentSince(store.outbox.unpublished_since, dict.fromkeys(IndexKind, nothing), clock)
    indexes: Indexes = {IndexKind.TEXT: lambda: side.text, IndexKind.VECTOR: lambda: side.vectors}
    verification = Verification(
        Verifier(store, indexes, quiescent, clock, ComparisonOptions()),
        ComparisonOptions(full=full, repair=True, patient=False),
    )
    async for _ in verification.pieces():
        pass
    return verification.summary()


async def begin(side: Side, store: SqlStore) -> Sequence[Generation]:
    """Create the generations of text and vectors."""
    kinds = ((IndexKind.TEXT, side.text.builder, "", 0), (IndexKind.VECTOR, side.vectors.builder, MODEL, DIMENSIONS))
    made = [
        Generation(
            kind=kind, name=f"{kind}-1", model=model, dimensions=size, builder=builder, status=GenerationStatus.SERVING
        )
        for kind, builder, model, size in kinds
    ]
    await side.text.prepare(made[0].name)
    await side.vectors.prepare(made[1].name, DIMENSIONS)
    return [await store.generations.ensure(each) for each in made]


async def fill(side: Side, generations: Sequence[Generation], count: int) -> None:
    """Write that many memories and their entries."""
    text, vectors = generations
    for start in range(0, count, STEP):
        rows = [_memory(number) for number in range(start, min(start + STEP, count))]
        await side.database.write(lambda connection, rows=rows: _insert(connection, rows))  # type: ignore[misc]
        passages = PassageSet(1, (_VECTOR,))
        found = [each for row in rows for each in vector_entries(row, passages, vectors.builder)]
        failed = await asyncio.gather(
            side.text.write(text.name, [text_entry(row, text.builder) for row in rows]),
            side.vectors.write(vectors.name, found),
        )
        if any(failed):
            raise SystemExit("entries could not be written")


def _memory(number: int) -> Memory:
    content = f"Note {number}: the harbour master counts {number % 97} boats at the quay and writes it down."
    at = 1_700_000_000_000_000 + number
    return Memory(
        id=uuid7(at),
        workspace_id="default",
        content=content,
        content_hash=content_hash(content),
        type=MemoryType.FACT,
        occurred_at=at,
        confirmed_at=at,
        created_at=at,
        updated_at=at,
        text_revision=1,
        vector_revision=1,
        passages_high=1,
    )


def _insert(connection: Connection, rows: Sequence[Memory]) -> None:
    insert_rows(connection, memories, [row_from_memory(row, None) for row in rows])
    passages = [
        {"memory_id": row.id, "model": MODEL, "passage": 0, "revision": 1, "input_hash": row.content_hash}
        for row in rows
    ]
    connection.execute(insert(memory_passages), passages)


@asynccontextmanager
async def opened(name: str) -> AsyncIterator[Side]:
    """`embedded` or `servers`."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="openbrain-bench-")))
        side = stack.enter_context(_servers() if name == "servers" else _embedded(folder))
        await side.database.write(metadata.create_all)
        try:
            yield side
        finally:
            await side.text.close()
            await side.vectors.close()
            await side.database.close()


@contextlib.contextmanager
def _embedded(folder: Path) -> Iterator[Side]:
    database = open_database(f"sqlite+aiosqlite:///{folder}/store.db")
    yield Side("embedded", database, TantivyText(folder / "text", 20), QdrantEdgeVectors(folder / "vectors"))


@contextlib.contextmanager
def _servers() -> Iterator[Side]:
    with running("mariadb", "elasticsearch") as started:
        name = f"openbrain_{uuid.uuid4().hex[:8]}"
        url = mariadb_server.create_database(started["mariadb"].server, name)
        address = started["elasticsearch"].url
        text = ElasticsearchText(address, name, 1000, True, 120)
        vectors = ElasticsearchVectors(address, name, 1000, True, 120)
        yield Side("servers", open_database(url), text, vectors)
